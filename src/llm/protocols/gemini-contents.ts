import type { Content, FunctionDeclaration, Part } from '@google/genai/web';
import type { Image, ToolSpec } from '../../core/model.ts';
import { type History, NO_RESULT, type Step } from './history.ts';
import { type PlacedPart, placeParts } from './kept-answer.ts';
import { asRecord } from './tool-call-assembly.ts';

/** Opens a history that was trimmed to begin with an answer: the first turn must be the user's. */
const TRIMMED = '(earlier messages left out)';
/**
 * Accepted in place of a signature that is not there, for calls of another model or of a key that has changed
 * (https://ai.google.dev/gemini-api/docs/thought-signatures, questions and answers).
 */
const NO_SIGNATURE = 'skip_thought_signature_validator';

/** From version 3 on models demand signatures, have levels of thinking, and take pictures inside a result. */
export function isGemini3(model: string): boolean {
  return /^(?:models\/)?gemini-(?:[3-9]|\d\d|(?:pro|flash|flash-lite)-latest)/.test(model);
}

export type GeminiContent = Content & { parts: Part[] };

/**
 * Turns alternate, a result stands right after the answer that asked for it, and carries the name of its
 * function. Answers of this model go back with each signature on the part that it came with.
 */
export function toGeminiContents(steps: History['steps'], model: string, provider = 'gemini'): GeminiContent[] {
  const contents: GeminiContent[] = [];
  const add = (role: 'user' | 'model', parts: readonly Part[]): void => {
    const last = contents.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else if (parts.length > 0) contents.push({ role, parts: [...parts] });
  };
  const turn = beginOfTurn(steps);
  if (steps[0]?.role !== 'user') add('user', [{ text: TRIMMED }]);
  for (const [at, step] of steps.entries()) {
    if (step.role === 'user') {
      add('user', userParts(step));
      continue;
    }
    const placed = placeParts(step);
    // Vertex AI refuses the ids that its sibling takes (github.com/vercel/ai/issues/15664).
    const parts = provider === 'vertex' ? placed.map(({ id: _, ...part }): PlacedPart => part) : placed;
    add('model', answerParts(parts, at > turn && isGemini3(model)));
    add('user', resultParts(parts, isGemini3(model)));
  }
  return contents;
}

/**
 * Where the turn in progress begins: at words of a person that are a turn of their own. Those that stand
 * right behind results are sent with them, and the turn goes on.
 */
function beginOfTurn(steps: History['steps']): number {
  return steps.findLastIndex((step, at) => {
    if (step.role !== 'user') return false;
    const before = steps.slice(0, at).findLast(({ role }) => role !== 'user');
    return before?.role !== 'assistant' || before.calls.length === 0;
  });
}

/** Of calls made at once the first one bears a signature. `signed`: it is refused without one. */
function answerParts(parts: readonly PlacedPart[], signed: boolean): Part[] {
  const bare = signed && !parts.some(({ past, signature }) => past && signature);
  const first = bare ? parts.find(({ past }) => past) : undefined;
  return parts.flatMap((part): Part[] => {
    const { id, past, text, whole } = part;
    const thoughtSignature = part === first ? NO_SIGNATURE : part.signature;
    const signature = thoughtSignature === undefined ? {} : { thoughtSignature };
    if (whole) return [whole];
    if (!past) return text === '' && thoughtSignature === undefined ? [] : [{ text, ...signature }];
    const args = JSON.parse(past.arguments) as Record<string, unknown>;
    return [{ functionCall: { ...(id === undefined ? {} : { id }), name: past.name, args }, ...signature }];
  });
}

/** Pictures stand in a result; older models: behind all (ai.google.dev/gemini-api/docs/function-calling). */
function resultParts(parts: readonly PlacedPart[], inside: boolean): Part[] {
  const calls = parts.flatMap(({ id, past }) => (past ? [{ ...past, id }] : []));
  const results = calls.map(({ id, name, result, images }): Part => {
    const response = result === undefined ? { error: NO_RESULT } : { output: result };
    const shown = inside && images.length > 0 ? { parts: images.map(toInline) } : {};
    return { functionResponse: { ...(id === undefined ? {} : { id }), name, response, ...shown } };
  });
  return [...results, ...(inside ? [] : calls.flatMap(({ images }) => images.map(toInline)))];
}

function userParts(step: Extract<Step, { role: 'user' }>): Part[] {
  return [...(step.text === '' ? [] : [{ text: step.text }]), ...step.images.map(toInline)];
}

function toInline({ mime, base64 }: Image): Part {
  return { inlineData: { mimeType: mime, data: base64 } };
}

/** JSON Schema (ai.google.dev/api/caching#FunctionDeclaration); an object without properties is refused. */
export function toGeminiFunctions(tools: readonly ToolSpec[]): FunctionDeclaration[] {
  return tools.map(({ name, description, parameters }) => {
    const takesAny = Object.keys(asRecord(parameters['properties'])).length > 0 || parameters['$ref'] !== undefined;
    return { name, description, ...(takesAny ? { parametersJsonSchema: parameters } : {}) };
  });
}
