import type { Image, ToolSpec } from '../../core/model.ts';
import { sentIds, stateText } from './call-ids.ts';
import type { ChatHabits } from './chat-habits.ts';
import { type History, NO_RESULT, type PastCall, type Step } from './history.ts';
import { asRecord } from './tool-call-assembly.ts';

type Part = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } };
type Message = Readonly<Record<string, unknown>> & { readonly role: 'system' | 'user' | 'assistant' | 'tool' };
type Answer = Extract<Step, { role: 'assistant' }>;

/** Stands between a result and the words of a person that follow it. */
const ANSWER_BETWEEN: Message = { role: 'assistant', content: 'I have read this.' };

/**
 * Steps as OpenAI chat messages. Each result stands right after the answer that asked for it. `thinks`: the
 * provider demands the reasoning of every past answer, and an empty text where none is known.
 */
export function toOpenAiMessages({ system, steps }: History, habits: ChatHabits, thinks: boolean): Message[] {
  const ids = sentIds(steps, habits.ids);
  const messages: Message[] = system === '' ? [] : [{ role: 'system', content: system }];
  for (const step of steps) {
    if (step.role === 'user') {
      if (habits.answersResults && messages.at(-1)?.role === 'tool') messages.push(ANSWER_BETWEEN);
      messages.push({ role: 'user', content: userContent(step.text, step.images) });
    } else messages.push(toAnswer(step, ids, habits, thinks), ...toResults(step.calls, ids, habits));
  }
  return messages;
}

/** A plain string where nothing else is needed: small servers know no parts. */
function userContent(text: string, images: readonly Image[]): string | Part[] {
  if (images.length === 0) return text;
  return [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...images.map(toPart)];
}

function toPart({ mime, base64 }: Image): Part {
  return { type: 'image_url', image_url: { url: `data:${mime};base64,${base64}` } };
}

function toAnswer(step: Answer, ids: ReadonlyMap<PastCall, string>, habits: ChatHabits, thinks: boolean): Message {
  const { text, calls } = step;
  const details = asRecord(step.state)['details'];
  const thought = habits.reasoning === 'chunk' ? stateText(step, 'reasoning') : '';
  const chunks = [
    { type: 'thinking', thinking: [{ type: 'text', text: thought }] },
    ...(text === '' ? [] : [{ type: 'text', text }]),
  ];
  return {
    role: 'assistant',
    // "content must not be empty" is a 400 at several providers.
    content: thought === '' ? (text === '' ? null : text) : chunks,
    ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => toToolCall(call, ids)) }),
    ...(habits.reasoning === 'content' && thinks ? { reasoning_content: stateText(step, 'reasoning') } : {}),
    ...(habits.reasoning === 'details' && isListOfRecords(details)
      ? { reasoning_details: details }
      : habits.demandsReasoning && { reasoning_content: '' }),
  };
}

function isListOfRecords(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => asRecord(item) === item);
}

function toToolCall(call: PastCall, ids: ReadonlyMap<PastCall, string>): object {
  return { id: ids.get(call), type: 'function', function: { name: call.name, arguments: call.arguments } };
}

/** A result is text alone here: pictures follow as the user's, but at Mistral (no user after a result). */
function toResults(calls: readonly PastCall[], ids: ReadonlyMap<PastCall, string>, habits: ChatHabits): Message[] {
  const inResult = habits.reasoning === 'chunk';
  const results = calls.map((call): Message => {
    const text = call.result ?? NO_RESULT;
    const content = inResult ? userContent(text, call.images) : text;
    return { role: 'tool', content, tool_call_id: ids.get(call) ?? call.id };
  });
  const shown = inResult ? [] : calls.filter(({ images }) => images.length > 0);
  if (shown.length === 0) return results;
  const names = shown.map(({ name }) => name).join(', ');
  const images = shown.flatMap((call) => call.images);
  return [...results, { role: 'user', content: userContent(`[pictures from the result of ${names}]`, images) }];
}

export function toOpenAiTools(tools: readonly ToolSpec[]) {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function' as const,
    function: { name, description, parameters: { ...parameters } },
  }));
}
