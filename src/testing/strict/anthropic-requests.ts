/** Requests to the strict server of Anthropic, by plain fetch, for its own tests. */
import { anthropicWire } from './anthropic.ts';
import { type Script, type StrictServer, type StrictServerOptions, startStrictServer } from './strict-server.ts';

export type Body = Readonly<Record<string, unknown>>;

export const HI = { role: 'user', content: 'hi' };
export const TOOL = { name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: {} } };
export const USE = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };
export const RESULT = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'seen' };
export const assistant = (...content: object[]) => ({ role: 'assistant', content });
export const user = (...content: object[]) => ({ role: 'user', content });

export async function start(script: Script = () => ({ text: 'ok' }), options: StrictServerOptions = {}): Promise<StrictServer> {
  return startStrictServer(anthropicWire(), script, options);
}

export async function post(server: StrictServer, body: Body, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${server.origin}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'k', 'anthropic-version': '2023-06-01', ...headers },
    body: JSON.stringify({ model: 'claude-opus-5', max_tokens: 1_000, stream: true, messages: [HI], ...body }),
  });
}

/** Status and message of a refusal; 200 and nothing else for an answer. */
export async function outcome(response: Response): Promise<readonly [number, string?, string?]> {
  const text = await response.text();
  if (response.status === 200) return [200];
  const { error } = JSON.parse(text) as { error: { type: string; message: string } };
  return [response.status, error.type, error.message];
}
