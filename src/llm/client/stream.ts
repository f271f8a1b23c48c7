import type { Model, StopReason, Usage } from '../../core/model.ts';
import { callModel } from './answer.ts';
import { type Prompt, toRequest } from './prompt.ts';

export type StreamPart =
  | { readonly type: 'text'; readonly text: string }
  /** Forget all text so far: another try or another model begins anew. */
  | { readonly type: 'restart'; readonly reason: string }
  /** The last part. `text` is what the texts after the last restart make up. */
  | {
      readonly type: 'end';
      readonly text: string;
      readonly stop: StopReason;
      readonly usage: Usage;
      /** `provider/model` that answered. */
      readonly model: string;
    };

/**
 * One answer piece by piece. Throws like `generate`, also in the middle. Leaving the loop early ends the call and closes its
 * connection.
 */
export async function* stream(model: Model, prompt: Prompt, signal: AbortSignal): AsyncGenerator<StreamPart> {
  let shown = false;
  for await (const event of callModel(model, toRequest(prompt), signal)) {
    if (event.type === 'text') {
      shown = true;
      yield event;
    } else if (event.type === 'restart' && shown) {
      // Reasoning may be all that has to be forgotten, and that was never shown.
      shown = false;
      yield event;
    } else if (event.type === 'done') {
      const { text, stop, usage, provider, model: name } = event.answer;
      yield { type: 'end', text, stop, usage, model: `${provider}/${name}` };
    }
  }
}
