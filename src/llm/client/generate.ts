import type { Model, StopReason, Usage } from '../../core/model.ts';
import { askModel } from './answer.ts';
import { type Prompt, toRequest } from './prompt.ts';

export interface Generated {
  readonly text: string;
  /** `length`: the output limit cut the text off. */
  readonly stop: StopReason;
  readonly usage: Usage;
  /** `provider/model` that answered, which in a chain need not be the first. */
  readonly model: string;
}

/**
 * One answer as text. Rejects with a `GatehouseError` that has the code, message and hint of the call's failure, or with
 * `signal.reason`. What is retried and who else is asked is the model's business.
 */
export async function generate(model: Model, prompt: Prompt, signal: AbortSignal): Promise<Generated> {
  const { text, stop, usage, provider, model: name } = await askModel(model, toRequest(prompt), signal);
  return { text, stop, usage, model: `${provider}/${name}` };
}
