import type { ToolSpec } from '../../core/model.ts';
import { toGeminiSchema } from './gemini-schema.ts';
import { type History, NO_RESULT, type PastCall, type Step } from './history.ts';

/** Opens a history that was trimmed to begin with an answer: the first turn must be the user's. */
const TRIMMED = '(earlier messages left out)';
/**
 * Accepted in place of a signature for calls that come from another model or from before a restart, which Gemini 3 refuses without
 * one (https://ai.google.dev/gemini-api/docs/thought-signatures, questions and answers).
 */
const NO_SIGNATURE = 'skip_thought_signature_validator';
const DEMANDS_SIGNATURES = /^(?:models\/)?gemini-(?:[3-9]|\d\d|(?:pro|flash|flash-lite)-latest)/;

export interface GeminiPart {
  readonly text?: string;
  readonly inlineData?: { readonly mimeType: string; readonly data: string };
  readonly functionCall?: { readonly id: string; readonly name: string; readonly args: Record<string, unknown> };
  readonly functionResponse?: { readonly id: string; readonly name: string; readonly response: Record<string, unknown> };
  readonly thoughtSignature?: string;
}

export interface GeminiContent {
  readonly role: 'user' | 'model';
  readonly parts: GeminiPart[];
}

/**
 * Turns alternate, a result stands right after the answer that asked for it, and carries the name of its function. `signature` is
 * what the model gave with a call.
 */
export function toGeminiContents(
  steps: History['steps'],
  model: string,
  signature: (callId: string) => string | undefined,
): GeminiContent[] {
  const contents: GeminiContent[] = [];
  const add = (role: GeminiContent['role'], parts: readonly GeminiPart[]): void => {
    const last = contents.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else if (parts.length > 0) contents.push({ role, parts: [...parts] });
  };
  if (steps[0]?.role !== 'user') add('user', [{ text: TRIMMED }]);
  for (const step of steps) {
    if (step.role === 'user') {
      add('user', userParts(step));
      continue;
    }
    add('model', step.text === '' ? [] : [{ text: step.text }]);
    add('model', callParts(step.calls, model, signature));
    add('user', step.calls.map(responsePart));
  }
  return contents;
}

function userParts(step: Extract<Step, { role: 'user' }>): GeminiPart[] {
  return [
    ...(step.text === '' ? [] : [{ text: step.text }]),
    ...step.images.map(({ mime, base64 }) => ({ inlineData: { mimeType: mime, data: base64 } })),
  ];
}

/** Of calls made at once only the first one bears a signature. */
function callParts(calls: readonly PastCall[], model: string, signature: (callId: string) => string | undefined): GeminiPart[] {
  const signatures: (string | undefined)[] = calls.map(({ id }) => signature(id));
  if (DEMANDS_SIGNATURES.test(model) && !signatures.some((one) => one !== undefined)) signatures[0] = NO_SIGNATURE;
  return calls.map(({ id, name, arguments: text }, index) => {
    const thoughtSignature = signatures[index];
    const args = JSON.parse(text) as Record<string, unknown>;
    return { functionCall: { id, name, args }, ...(thoughtSignature === undefined ? {} : { thoughtSignature }) };
  });
}

function responsePart({ id, name, result }: PastCall): GeminiPart {
  return { functionResponse: { id, name, response: result === undefined ? { error: NO_RESULT } : { output: result } } };
}

export interface GeminiFunction {
  readonly name: string;
  readonly description: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
}

export function toGeminiFunctions(tools: readonly ToolSpec[]): GeminiFunction[] {
  return tools.map(({ name, description, parameters }) => {
    const cleaned = toGeminiSchema(parameters);
    return { name, description, ...(cleaned ? { parameters: cleaned } : {}) };
  });
}
