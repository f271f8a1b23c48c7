/** Requests to the strict server of Gemini, by plain fetch, for its own tests. */
import { type GeminiOptions, geminiWire } from './gemini.ts';
import { type Script, type StrictServer, type StrictServerOptions, startStrictServer } from './strict-server.ts';

export type Body = Readonly<Record<string, unknown>>;
export type Parts = readonly Record<string, unknown>[];

export const MODEL = 'gemini-3.8-flash';
export const PLACEHOLDER = 'skip_thought_signature_validator';
export const user = (...parts: object[]) => ({ role: 'user', parts });
export const model = (...parts: object[]) => ({ role: 'model', parts });
export const HI = user({ text: 'hi' });
export const CALL = { functionCall: { id: 'c1', name: 'look', args: {} }, thoughtSignature: PLACEHOLDER };
export const UNSIGNED = { functionCall: CALL.functionCall };
export const RESPONSE = { functionResponse: { id: 'c1', name: 'look', response: { output: 'seen' } } };

export const tool = (parameters?: object, name = 'look') => ({ tools: [{ functionDeclarations: [{ name, parameters }] }] });
export const WHERE = { type: 'OBJECT', properties: { where: { type: 'STRING' } } };
export const config = (generationConfig: object) => ({ generationConfig });
export const thinking = (thinkingConfig: object) => config({ thinkingConfig });

export async function start(
  script: Script = () => ({ text: 'ok' }),
  options: StrictServerOptions & GeminiOptions = {},
): Promise<StrictServer> {
  return startStrictServer(geminiWire(options), script, options);
}

export async function post(
  server: StrictServer,
  body: Body,
  { name = MODEL, key = 'k', query = '?alt=sse' } = {},
): Promise<Response> {
  return fetch(`${server.baseUrl}/models/${name}:streamGenerateContent${query}`, {
    method: 'POST',
    headers: key === '' ? {} : { 'x-goog-api-key': key },
    body: JSON.stringify({ contents: [HI], ...body }),
  });
}

export async function outcome(response: Response): Promise<readonly [number, string?, string?]> {
  const text = await response.text();
  if (response.status === 200) return [200];
  const { error } = JSON.parse(text) as { error: { message: string; status: string } };
  return [response.status, error.status, error.message];
}
