/** Requests to the strict server of OpenAI Responses, by plain fetch, for its own tests. */
import { openAiResponses } from './openai-responses.ts';
import { type Script, type StrictServer, type StrictServerOptions, startStrictServer } from './strict-server.ts';

export type Body = Readonly<Record<string, unknown>>;

export const HI = { role: 'user', content: 'hi' };
export const CALL = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' };
export const OUTPUT = { type: 'function_call_output', call_id: 'call_1', output: 'seen' };
export const TOOL = {
  type: 'function',
  name: 'look',
  parameters: { type: 'object', properties: { where: { type: 'string' } } },
  strict: false,
};
export const LONG = `call_${'x'.repeat(70)}`;

export async function start(script: Script = () => ({ text: 'ok' }), options: StrictServerOptions = {}): Promise<StrictServer> {
  return startStrictServer(openAiResponses, script, options);
}

export async function post(server: StrictServer, body: Body, key = 'k'): Promise<Response> {
  return fetch(`${server.baseUrl}/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'gpt-6-luna', store: false, stream: true, input: [HI], ...body }),
  });
}

export interface ErrorBody {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

export async function outcome(response: Response): Promise<readonly [number, ErrorBody?]> {
  const text = await response.text();
  return response.status === 200 ? [200] : [response.status, (JSON.parse(text) as { error: ErrorBody }).error];
}
