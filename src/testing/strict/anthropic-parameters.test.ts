import { expect, test } from 'vitest';
import { type Body, outcome, post, start, TOOL } from './anthropic-requests.ts';

const withSchema = (members: object) => ({ ...TOOL, input_schema: { type: 'object', ...members } });

/** Body, the refusal's message, and the same body made right. */
const RULES: readonly (readonly [string, Body, string, Body])[] = [
  ['max_tokens is missing', { max_tokens: undefined }, 'max_tokens: Field required', {}],
  [
    'max_tokens is above the bound',
    { max_tokens: 9_999_999 },
    'max_tokens: 9999999 > 128000, which is the maximum allowed number of output tokens for claude-opus-5',
    { max_tokens: 128_000 },
  ],
  [
    'max_tokens is above the bound of a smaller model',
    { model: 'claude-haiku-4-5', max_tokens: 64_001 },
    'max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5',
    { model: 'claude-haiku-4-5', max_tokens: 64_000 },
  ],
  [
    'max_tokens is 0 while streaming',
    { max_tokens: 0 },
    'max_tokens: Input should be greater than or equal to 1',
    { max_tokens: 1 },
  ],
  [
    'thinking is turned off on Opus 5.5',
    { model: 'claude-opus-5-5', thinking: { type: 'disabled' } },
    '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    { model: 'claude-opus-5-5', thinking: { type: 'adaptive' } },
  ],
  [
    'a budget is given to Opus 5',
    { thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 2_000 },
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    { model: 'claude-opus-4-6', thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 2_000 },
  ],
  [
    'thinking is turned off on Sonnet 5.5',
    { model: 'claude-sonnet-5-5', thinking: { type: 'disabled' } },
    'To turn thinking off on this model, send "thinking": {"type": "between_tools"} instead of {"type": "disabled"}. The model does not think before responding. The short updates it writes between tool calls come back as thinking blocks.',
    { model: 'claude-sonnet-5-5', thinking: { type: 'between_tools' } },
  ],
  [
    'between_tools has a display',
    { model: 'claude-sonnet-5-5', thinking: { type: 'between_tools', display: 'omitted' } },
    'thinking.between_tools.display: Extra inputs are not permitted',
    { model: 'claude-sonnet-5-5', thinking: { type: 'adaptive', display: 'omitted' } },
  ],
  [
    'Haiku 4.5 is asked for adaptive thinking',
    { model: 'claude-haiku-4-5-20251001', thinking: { type: 'adaptive' } },
    'adaptive thinking is not supported on this model',
    { model: 'claude-haiku-4-5-20251001', thinking: { type: 'disabled' } },
  ],
  [
    'a budget is too small',
    { model: 'claude-sonnet-4-5', thinking: { type: 'enabled', budget_tokens: 1_000 }, max_tokens: 2_000 },
    'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
    { model: 'claude-sonnet-4-5', thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 2_000 },
  ],
  [
    'a budget leaves no room for an answer',
    { model: 'claude-sonnet-4-5', thinking: { type: 'enabled', budget_tokens: 2_000 }, max_tokens: 2_000 },
    '`max_tokens` must be greater than `thinking.budget_tokens`.',
    { model: 'claude-sonnet-4-5', thinking: { type: 'enabled', budget_tokens: 2_000 }, max_tokens: 2_001 },
  ],
  [
    'block_binding comes without its header',
    { model: 'claude-opus-5-5', thinking: { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } } },
    'thinking.adaptive.block_binding: Extra inputs are not permitted',
    { model: 'claude-opus-5-5' },
  ],
  [
    'Haiku 4.5 is given an effort',
    { model: 'claude-haiku-4-5', output_config: { effort: 'low' } },
    'This model does not support the effort parameter.',
    { model: 'claude-haiku-5-5', output_config: { effort: 'low' } },
  ],
  [
    'Opus 4.6 is given xhigh',
    { model: 'claude-opus-4-6', output_config: { effort: 'xhigh' } },
    "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
    { model: 'claude-opus-4-6', output_config: { effort: 'max' } },
  ],
  [
    'xhigh comes without thinking',
    { thinking: { type: 'disabled' }, output_config: { effort: 'xhigh' } },
    "output_config.effort 'xhigh' is not supported when thinking is disabled on this model. Use effort 'high' or below, or enable thinking.",
    { thinking: { type: 'disabled' }, output_config: { effort: 'high' } },
  ],
  [
    'Opus 4.7 is given a temperature',
    { model: 'claude-opus-4-7', temperature: 0.5 },
    '`temperature` is deprecated for this model.',
    { model: 'claude-opus-4-6', temperature: 0.5 },
  ],
  [
    'Sonnet 5 is given top_p',
    { model: 'claude-sonnet-5', top_p: 0.5 },
    '`top_p` is deprecated for this model.',
    { model: 'claude-sonnet-5', top_p: 0.99 },
  ],
  [
    'temperature and top_p come together',
    { model: 'claude-haiku-4-5', temperature: 0.5, top_p: 0.9 },
    '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
    { model: 'claude-haiku-4-5', temperature: 0.5 },
  ],
  [
    'a tool is forced on Opus 5.5',
    { model: 'claude-opus-5-5', tools: [TOOL], tool_choice: { type: 'any' } },
    'tool_choice: type "tool" and "any" are not supported for this model.',
    { model: 'claude-haiku-5-5', tools: [TOOL], tool_choice: { type: 'any' } },
  ],
  ['two tools have one name', { tools: [TOOL, TOOL] }, 'tools: Tool names must be unique.', { tools: [TOOL] }],
  ['a tool has no schema', { tools: [{ name: 'look' }] }, 'tools.0.custom.input_schema: Field required', { tools: [TOOL] }],
  [
    'a schema begins with variants',
    { tools: [withSchema({ anyOf: [{ required: ['at'] }] })] },
    'tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level',
    { tools: [withSchema({ properties: { at: { anyOf: [{ type: 'string' }, { type: 'null' }] } } })] },
  ],
  [
    'a schema has a tuple of draft-07',
    { tools: [withSchema({ properties: { at: { type: 'array', items: [{ type: 'number' }] } } })] },
    'tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at https://docs.claude.com/en/docs/tool-use.',
    { tools: [withSchema({ properties: { at: { type: 'array', prefixItems: [{ type: 'number' }] } } })] },
  ],
];

test.each(RULES)('it is refused that %s', async (_name, wrong, message, right) => {
  await using server = await start();
  expect(await outcome(await post(server, wrong))).toEqual([400, 'invalid_request_error', message]);
  expect(await outcome(await post(server, right))).toEqual([200]);
  expect(server.refusals).toHaveLength(1);
});
