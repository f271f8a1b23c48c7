import type { Image, ToolSpec } from '../../core/model.ts';
import { type IdRule, sentIds } from './call-ids.ts';
import { type History, NO_RESULT, type PastCall, type Step } from './history.ts';
import type { OpenAI } from './openai-client.ts';
import { asRecord } from './tool-call-assembly.ts';

type InputItem = OpenAI.Responses.ResponseInputItem;
type Answer = Extract<Step, { role: 'assistant' }>;

/** At most 64 characters (provider-rules 2b). */
const IDS: IdRule = { accepts: /^[A-Za-z0-9_-]{1,64}$/, length: 24 };

/**
 * Steps as input items. An answer that this model gave goes back as the items it came in; any other one as
 * its text before its calls, without item ids: those name objects that the server would have to keep, and
 * `store` is false. Each result follows its answer.
 */
export function toInputItems(steps: History['steps']): InputItem[] {
  const ids = sentIds(steps, IDS);
  return steps.flatMap((step): InputItem[] => {
    if (step.role === 'user') return [{ role: 'user', content: content(step.text, step.images) }];
    const kept = keptItems(step);
    if (kept) return kept;
    const callId = (call: PastCall): string => ids.get(call) ?? call.id;
    return [
      ...(step.text === '' ? [] : [{ role: 'assistant' as const, content: step.text }]),
      ...step.calls.map((call) => {
        const { name, arguments: args } = call;
        return { type: 'function_call' as const, call_id: callId(call), name, arguments: args };
      }),
      ...step.calls.map((call) => toOutput(call, callId(call))),
    ];
  });
}

/** The items as they came, then a result for each call. Undefined where the line no longer says the same. */
function keptItems({ state, text, calls }: Answer): InputItem[] | undefined {
  const { items } = asRecord(state);
  if (!Array.isArray(items) || !items.every(isOfAnswer)) return undefined;
  const parts = items.flatMap((item) => (item['type'] === 'reasoning' ? [] : listOf(item['content'])));
  const said = parts.map(({ text: part }) => (typeof part === 'string' ? part : ''));
  const made = items.filter(({ type }) => type === 'function_call');
  const results = made.map(({ call_id, name }) => {
    const id = typeof call_id === 'string' ? call_id : '';
    return { id, call: calls.find((call) => call.name === name && call.providerIds.includes(id)) };
  });
  const answered = new Set(results.map(({ call }) => call));
  if (said.join('') !== text || answered.has(undefined) || answered.size !== calls.length) return undefined;
  return [...items, ...results.flatMap(({ id, call }) => (call ? [toOutput(call, id)] : []))];
}

/** What a model puts out: who changed a session file must not speak for us or for a tool. */
function isOfAnswer(item: unknown): item is InputItem & Readonly<Record<string, unknown>> {
  const { type, role = 'assistant' } = asRecord(item);
  return role === 'assistant' && typeof type === 'string' && /^(?:message|reasoning|\w+_call)$/.test(type);
}

function listOf(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.map(asRecord) : [];
}

function toOutput({ result, images }: PastCall, callId: string): InputItem {
  return { type: 'function_call_output', call_id: callId, output: content(result ?? NO_RESULT, images) };
}

function content(text: string, images: readonly Image[]): string | OpenAI.Responses.ResponseInputMessageContentList {
  if (images.length === 0) return text;
  const pictures = images.map(({ mime, base64 }) => `data:${mime};base64,${base64}`);
  // `auto` has no bound on newer models: 14,364 tokens for a photo of 12 megapixels.
  const shown = pictures.map((image_url) => ({ type: 'input_image' as const, detail: 'high' as const, image_url }));
  return [...(text === '' ? [] : [{ type: 'input_text' as const, text }]), ...shown];
}

export function toResponsesTools(tools: readonly ToolSpec[]): OpenAI.Responses.FunctionTool[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    name,
    description,
    parameters: { ...parameters },
    // The default wants schemas of a stricter kind (all properties required, no others) and refuses the rest.
    strict: false,
  }));
}
