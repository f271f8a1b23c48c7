/** A request as steps, for wires that take no system messages in between and results right after calls. */
import type { Json } from '../../core/message.ts';
import type { Image, ModelRequest } from '../../core/model.ts';

export interface PastCall {
  readonly id: string;
  /** What the provider that made the call named it; more than one where the same call was asked for twice. */
  readonly providerIds: readonly string[];
  readonly name: string;
  /** JSON text of an object, whatever the model wrote. */
  readonly arguments: string;
  /** Undefined: the history holds no result, which every provider refuses; the wire says so in its place. */
  readonly result: string | undefined;
  /** Pictures that the tool gave beside its text. */
  readonly images: readonly Image[];
}

export type Step =
  | { readonly role: 'user'; readonly text: string; readonly images: readonly Image[] }
  | {
      readonly role: 'assistant';
      readonly text: string;
      readonly calls: readonly PastCall[];
      /** `providerState.data` of this answer, where the same provider and model gave it. */
      readonly state?: Json;
    };

export interface History {
  /** All system messages, in order; '' when there is none. */
  readonly system: string;
  /** Never empty of content: messages that say nothing are left out, results without a call too. */
  readonly steps: readonly Step[];
}

/** What stands for a result that the history lost. */
export const NO_RESULT = 'no result was recorded';

export interface HistoryTarget {
  readonly provider: string;
  readonly model: string;
  /** False: pictures become a line of text. */
  readonly vision: boolean;
}

/** Kinds with which a provider refuses a request (docs.x.ai; github.com/microsoft/vscode/issues/286628). */
const REFUSED_IMAGES = /^(?:gemini|vertex|xai) image\/gif$|^xai image\/webp$/;

/** A result belongs to the nearest earlier call of its id: some servers repeat ids in later answers. */
export function toHistory(request: Pick<ModelRequest, 'messages' | 'images'>, target: HistoryTarget): History {
  const system: string[] = [];
  const steps: Step[] = [];
  const waiting = new Map<string, Unanswered>();
  for (const message of request.messages) {
    const pictures = request.images?.get(message.id) ?? [];
    const images = pictures.filter(({ mime }) => target.vision && !REFUSED_IMAGES.test(`${target.provider} ${mime}`));
    const text = withPictureNote(message.content, pictures.length - images.length);
    switch (message.role) {
      case 'system':
        if (message.content !== '') system.push(message.content);
        break;
      case 'user':
        if (text !== '' || images.length > 0) steps.push({ role: 'user', text, images });
        break;
      case 'assistant': {
        const calls = (message.tool_calls ?? []).map(({ id, name: given, arguments: args, provider_ids: providerIds = [] }) => {
          // One that a model made up is refused with every later request.
          const name = given.replace(/[^\w-]|^(?![a-z_])/gi, '_').slice(0, 64);
          const call: Unanswered = { id, providerIds, name, arguments: validArguments(args), result: undefined, images: [] };
          waiting.set(id, call);
          return call;
        });
        const { provider_state: kept } = message;
        const own = kept?.provider === target.provider && kept.model === target.model;
        if (message.content !== '' || calls.length > 0) {
          steps.push({ role: 'assistant', text: message.content, calls, ...(own ? { state: kept.data } : {}) });
        }
        break;
      }
      case 'tool': {
        const id = message.tool_call_id ?? '';
        const call = waiting.get(id);
        if (call) Object.assign(call, { result: text, images });
        waiting.delete(id);
        break;
      }
    }
  }
  return { system: system.join('\n\n'), steps };
}

type Unanswered = Omit<PastCall, 'result' | 'images'> & { result: string | undefined; images: readonly Image[] };

/** The text of a message for a model that cannot see its pictures. */
function withPictureNote(text: string, pictures: number): string {
  if (pictures === 0) return text;
  const note = `[${pictures === 1 ? '1 picture was' : `${pictures} pictures were`} attached; this model cannot see them]`;
  return text === '' ? note : `${text}\n${note}`;
}

/** An object as JSON: servers fail on broken arguments of past calls. The model still sees what it wrote. */
function validArguments(text: string): string {
  if (text.trim() === '') return '{}';
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text;
  } catch {
    // not JSON: wrapped below
  }
  return JSON.stringify({ malformed_arguments: text });
}
