import { describe, expect, test } from 'vitest';
import type { ModelRequest } from '../../core/model.ts';
import type { SessionMessage } from '../../core/session.ts';
import { chatHabits } from './chat-habits.ts';
import { toHistory } from './history.ts';
import { toOpenAiMessages } from './openai-messages.ts';

let made = 0;
function line(role: SessionMessage['role'], content: string, more: Partial<SessionMessage> = {}): SessionMessage {
  made += 1;
  return { id: `m${made}`, role, content, timestamp: 't', ...more };
}
const calls = (...ids: string[]) => ({ tool_calls: ids.map((id) => ({ id, name: 'f', arguments: '{}' })) });
const result = (id: string, content = 'ok') => line('tool', content, { tool_call_id: id });

function sent(provider: string, messages: readonly SessionMessage[], images?: ModelRequest['images']) {
  const history = toHistory({ messages, ...(images ? { images } : {}) }, { provider, model: 'm', vision: true });
  return toOpenAiMessages(history, chatHabits(provider), true) as Record<string, unknown>[];
}

describe('messages of the OpenAI chat wire', () => {
  test('arguments that are not a JSON object go back wrapped, so that no server fails to parse them', () => {
    const back = (text: string) => {
      const call = { tool_calls: [{ id: 'c', name: 'f', arguments: text }] };
      const [message] = sent('openai', [line('assistant', '', call)]);
      return (message?.['tool_calls'] as { function: { arguments: string } }[] | undefined)?.[0]?.function.arguments;
    };
    expect(back('{"a": 1}')).toBe('{"a": 1}');
    expect(back('')).toBe('{}');
    expect(back('{"a": ')).toBe('{"malformed_arguments":"{\\"a\\": "}');
    expect(back('[1]')).toBe('{"malformed_arguments":"[1]"}');
  });

  test('at Mistral a result is answered before a person speaks again; others need no such line', () => {
    const asked = [line('user', 'u'), line('assistant', '', calls('c')), result('c'), line('user', 'and?')];
    const roles = (provider: string) => sent(provider, asked).map(({ role }) => role);
    expect(roles('mistral')).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
    expect(roles('openai')).toEqual(['user', 'assistant', 'tool', 'user']);
  });

  test('an empty assistant line is left out, and a call without a result is answered that there is none', () => {
    expect(sent('openai', [line('user', 'u'), line('assistant', '')])).toHaveLength(1);
    expect(sent('openai', [line('assistant', '', calls('c'))]).at(-1)).toMatchObject({ role: 'tool', content: /no result/ });
  });

  test('M1 DeepSeek and Moonshot get the reasoning of every answer, empty where none is known; others get none', () => {
    const state = (provider: string) => ({ provider_state: { provider, model: 'm', data: { reasoning: 'because' } } });
    const history = (provider: string) => [
      line('user', 'u1'),
      line('assistant', 'a1', { ...calls('c1'), ...state(provider) }),
      result('c1'),
      line('user', 'u2'),
      line('assistant', 'a2', { ...calls('c2'), reasoning_content: 'of another provider' }),
      result('c2'),
    ];
    const reasoning = (provider: string, by = provider) =>
      sent(provider, history(by)).flatMap(({ role, reasoning_content }) => (role === 'assistant' ? [reasoning_content] : []));
    expect(reasoning('deepseek')).toEqual(['because', '']);
    expect(reasoning('moonshot')).toEqual(['because', '']);
    expect(reasoning('deepseek', 'moonshot')).toEqual(['', '']);
    expect(reasoning('openai')).toEqual([undefined, undefined]);
  });

  test('reasoning_details go back to OpenRouter as they came, and the call keeps the id that they name', () => {
    const details = [{ type: 'reasoning.encrypted', data: 'x', id: 'tool_1' }];
    const call = { tool_calls: [{ id: 'call_ours', name: 'f', arguments: '{}', provider_ids: ['tool_1'] }] };
    const provider_state = { provider: 'openrouter', model: 'm', data: { details } };
    const history = [line('user', 'u'), line('assistant', '', { ...call, provider_state }), result('call_ours')];
    const [, answer, back] = sent('openrouter', history);
    expect(answer).toMatchObject({ reasoning_details: details, tool_calls: [{ id: 'tool_1' }] });
    expect(back).toMatchObject({ tool_call_id: 'tool_1' });
    expect(sent('openai', history)[1]).toMatchObject({ tool_calls: [{ id: 'call_ours' }] });
    expect(sent('openai', history)[1]).not.toHaveProperty('reasoning_details');
  });

  test('M6 OpenRouter gets each call back under the id that its encrypted reasoning names, also a long one', () => {
    const id = 'tool_update_todo_list_mL716LwhunURIXx4ZUZf';
    const details = [{ type: 'reasoning.encrypted', data: 'x', id, index: 0 }];
    const tool_calls = [{ id: 'call_1', name: 'update_todo_list', arguments: '{}', provider_ids: [id] }];
    const provider_state = { provider: 'openrouter', model: 'm', data: { details } };
    const history = [line('user', 'go'), line('assistant', '', { tool_calls, provider_state })];
    const [, answer, result] = sent('openrouter', history);
    expect(answer).toMatchObject({ reasoning_details: details, tool_calls: [{ id }] });
    expect(result).toMatchObject({ tool_call_id: id });
  });

  test('M13 Mistral gets ids of nine letters and digits, one for each call and the same for its result', () => {
    const ids = Array.from({ length: 50 }, (_, n) => `call_0123456789abcdef_1_${n}`);
    const messages = sent('mistral', [line('user', 'u'), line('assistant', '', calls(...ids)), ...ids.map((id) => result(id))]);
    const called = ((messages[1]?.['tool_calls'] ?? []) as { id: string }[]).map(({ id }) => id);
    expect(called.every((id) => /^[A-Za-z0-9]{9}$/.test(id))).toBe(true);
    expect(new Set(called).size).toBe(50);
    expect(messages.slice(2).map(({ tool_call_id }) => tool_call_id)).toEqual(called);
  });

  test('Mistral gets its thinking back as a chunk before the text', () => {
    const provider_state = { provider: 'mistral', model: 'm', data: { reasoning: 'because' } };
    expect(sent('mistral', [line('assistant', 'so', { provider_state })])[0]?.['content']).toEqual([
      { type: 'thinking', thinking: [{ type: 'text', text: 'because' }] },
      { type: 'text', text: 'so' },
    ]);
  });

  test('pictures of a tool result follow the results, since a result is text on this wire', () => {
    const picture = { mime: 'image/png', base64: 'AAAA' } as const;
    const shown = result('c1', 'a picture');
    const images = new Map([[shown.id, [picture]]]);
    const messages = sent('openai', [line('assistant', '', calls('c1', 'c2')), shown, result('c2')], images);
    expect(messages.map(({ role }) => role)).toEqual(['assistant', 'tool', 'tool', 'user']);
    expect(JSON.stringify(messages[3])).toContain('data:image/png;base64,AAAA');
    const mistral = sent('mistral', [line('assistant', '', calls('c1')), shown], images);
    expect(mistral.map(({ role }) => role)).toEqual(['assistant', 'tool']);
  });
});
