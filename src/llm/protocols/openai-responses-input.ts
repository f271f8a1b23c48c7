import type { ToolSpec } from '../../core/model.ts';
import { type History, NO_RESULT, type Step } from './history.ts';
import type { OpenAI } from './openai-client.ts';

type InputItem = OpenAI.Responses.ResponseInputItem;

/**
 * Steps as input items. Without item ids: those name objects that the server would have to keep, and `store` is false. An answer's
 * text comes before its calls, each result right after the calls of its answer.
 */
export function toInputItems(steps: History['steps']): InputItem[] {
  return steps.flatMap((step): InputItem[] => {
    if (step.role === 'user') return [{ role: 'user', content: userContent(step) }];
    return [
      ...(step.text === '' ? [] : [{ role: 'assistant' as const, content: step.text }]),
      ...step.calls.map((call) => ({
        type: 'function_call' as const,
        call_id: call.id,
        name: call.name,
        arguments: call.arguments,
      })),
      ...step.calls.map((call) => ({
        type: 'function_call_output' as const,
        call_id: call.id,
        output: call.result ?? NO_RESULT,
      })),
    ];
  });
}

function userContent({ text, images }: Extract<Step, { role: 'user' }>): OpenAI.Responses.EasyInputMessage['content'] {
  if (images.length === 0) return text;
  return [
    ...(text === '' ? [] : [{ type: 'input_text' as const, text }]),
    ...images.map(({ mime, base64 }) => ({
      type: 'input_image' as const,
      detail: 'auto' as const,
      image_url: `data:${mime};base64,${base64}`,
    })),
  ];
}

export function toResponsesTools(tools: readonly ToolSpec[]): OpenAI.Responses.FunctionTool[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    name,
    description,
    parameters: { ...parameters },
    // The default demands schemas of a stricter kind (every property required, no others allowed) and refuses the rest.
    strict: false,
  }));
}
