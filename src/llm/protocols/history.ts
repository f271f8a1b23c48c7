/** A request's messages as steps, for wires that know no system messages in between and want each result right after its call. */
import type { Image, ModelRequest } from '../../core/model.ts';
import { validArguments, withPictureNote } from './openai-messages.ts';

export interface PastCall {
  readonly id: string;
  readonly name: string;
  /** JSON text of an object, whatever the model wrote. */
  readonly arguments: string;
  /** Undefined when the history holds no result, which every provider refuses: the wire has to say so in its place. */
  readonly result: string | undefined;
}

export type Step =
  | { readonly role: 'user'; readonly text: string; readonly images: readonly Image[] }
  | { readonly role: 'assistant'; readonly text: string; readonly calls: readonly PastCall[] };

export interface History {
  /** All system messages, in order; '' when there is none. */
  readonly system: string;
  /** Never empty of content: messages that say nothing are left out, results without a call too. */
  readonly steps: readonly Step[];
}

/** What stands for a result that the history lost. */
export const NO_RESULT = 'no result was recorded';

/**
 * `vision` false: pictures become a line of text. A result belongs to the nearest call of its id before it: ids are only unique
 * within one answer at some servers.
 */
export function toHistory(request: Pick<ModelRequest, 'messages' | 'images'>, vision: boolean): History {
  const system: string[] = [];
  const steps: Step[] = [];
  const waiting = new Map<string, Unanswered>();
  for (const message of request.messages) {
    switch (message.role) {
      case 'system':
        if (message.content !== '') system.push(message.content);
        break;
      case 'user': {
        const images = request.images?.get(message.id) ?? [];
        const text = vision ? message.content : withPictureNote(message.content, images.length);
        if (text !== '' || (vision && images.length > 0)) steps.push({ role: 'user', text, images: vision ? images : [] });
        break;
      }
      case 'assistant': {
        const calls = (message.tool_calls ?? []).map(({ id, name, arguments: text }) => {
          const call: Unanswered = { id, name, arguments: validArguments(text), result: undefined };
          waiting.set(id, call);
          return call;
        });
        if (message.content !== '' || calls.length > 0) steps.push({ role: 'assistant', text: message.content, calls });
        break;
      }
      case 'tool': {
        const id = message.tool_call_id ?? '';
        const call = waiting.get(id);
        if (call) call.result = message.content;
        waiting.delete(id);
        break;
      }
    }
  }
  return { system: system.join('\n\n'), steps };
}

type Unanswered = Omit<PastCall, 'result'> & { result: string | undefined };
