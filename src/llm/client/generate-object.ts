import type { z } from 'zod';
import { GatehouseError } from '../../core/errors.ts';
import type { Model, ModelAnswer, ModelRequest, Usage } from '../../core/model.ts';
import type { SessionMessage } from '../../core/session.ts';
import { addUsage, askModel } from './answer.ts';
import { createObjectSchema, type ObjectSchema } from './object-schema.ts';
import { type Prompt, toMessage, toRequest, withSystem } from './prompt.ts';

export type ObjectPrompt<S extends z.ZodType> = Prompt & {
  /** Must be a type that JSON can hold. Messages of its own refinements appear in the error: they must not quote the value. */
  readonly schema: S;
  /** What the model is told the object is. Defaults: `answer`, `The answer.` */
  readonly name?: string;
  readonly description?: string;
};

export interface GeneratedObject<T> {
  readonly object: T;
  /** Of both calls where the first answer had to be repaired. */
  readonly usage: Usage;
  /** `provider/model` that answered. */
  readonly model: string;
}

/**
 * One answer that fits the schema: the arguments of a tool the model is told to call, or JSON as text where the model has no
 * tools. An answer that does not fit is shown to the model once, with what is wrong. Rejects like `generate`, and with GH2116
 * when the second answer does not fit either; that error names the problems and holds no word of prompt or answer.
 */
export async function generateObject<S extends z.ZodType>(
  model: Model,
  prompt: ObjectPrompt<S>,
  signal: AbortSignal,
): Promise<GeneratedObject<z.output<S>>> {
  const { name = 'answer', description = 'The answer.' } = prompt;
  const schema = createObjectSchema(prompt.schema, { name, description });
  const by = model.facts?.tools === false ? 'text' : 'tool';
  const request = objectRequest(toRequest(prompt), schema, by);
  const first = await askModel(model, request, signal);
  const checked = await schema.check(first, by);
  if (checked.ok) return { object: checked.object, usage: first.usage, model: idOf(first) };
  const messages = [...request.messages, ...repairMessages(first, checked.problems, by)];
  const second = await askModel(model, { ...request, messages }, signal);
  const repaired = await schema.check(second, by);
  if (repaired.ok) return { object: repaired.object, usage: addUsage(first.usage, second.usage), model: idOf(second) };
  throw new GatehouseError('GH2116', `${idOf(second)} did not give what was asked for: ${repaired.safe.join('; ')}`);
}

function idOf({ provider, model }: ModelAnswer): string {
  return `${provider}/${model}`;
}

/**
 * Not every provider can be made to call a tool (thinking models refuse it, local servers ignore it), so that the instruction
 * does it everywhere; it comes first, before what the caller has to say.
 */
function objectRequest(request: ModelRequest, schema: ObjectSchema<unknown>, by: 'tool' | 'text'): ModelRequest {
  const instruction =
    by === 'tool'
      ? `Answer only by calling the tool "${schema.tool.name}", exactly once. Write no other text.`
      : `Answer only with one JSON value and no other text. It must fit this JSON Schema:\n${JSON.stringify(schema.json)}`;
  return {
    ...request,
    messages: withSystem(request.messages, instruction),
    tools: by === 'tool' ? [schema.tool] : [],
  };
}

/** The answer as history, and what is wrong with it: as results of its calls where it made some, or providers refuse the history. */
function repairMessages(answer: ModelAnswer, problems: readonly string[], by: 'tool' | 'text'): readonly SessionMessage[] {
  const again = by === 'tool' ? 'Call the tool again with arguments that fit.' : 'Answer again with JSON that fits.';
  const text = `This does not fit:\n${problems.map((problem) => `- ${problem}`).join('\n')}\n${again}`;
  const { toolCalls } = answer;
  const said = toMessage('object-1', 'assistant', answer.text, toolCalls.length > 0 ? { tool_calls: toolCalls } : {});
  if (toolCalls.length === 0) return [said, toMessage('object-2', 'user', text)];
  const results = toolCalls.map((call, index) => toMessage(`object-2-${index}`, 'tool', text, { tool_call_id: call.id }));
  return [said, ...results];
}
