import { readAtMost } from '../lib/read-at-most.ts';
import type { ResolvedProvider } from './providers/resolve.ts';

const LIST_MS = 20_000;
/** Several times the longest list there is: some routers offer hundreds of models with a text for each. */
const LIST_BYTES = 8_000_000;

/** Names of the models that a provider offers to this key (`GET /models`). Rejects when there is no list. */
export async function offeredModels(target: ResolvedProvider, key: string | undefined, signal: AbortSignal): Promise<string[]> {
  const { wire, baseUrl } = target;
  const path = { anthropic: '/v1/models?limit=1000', gemini: '/models?pageSize=1000' }[wire as string] ?? '/models';
  const headers: Record<string, string> = wire === 'anthropic' ? { 'anthropic-version': '2023-06-01' } : {};
  if (key && wire === 'anthropic') headers['x-api-key'] = key;
  else if (key && wire === 'gemini') headers['x-goog-api-key'] = key;
  else if (key) headers['authorization'] = `Bearer ${key}`;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LIST_MS)]);
  // A redirect could lead the key elsewhere.
  const response = await fetch(`${baseUrl}${path}`, { headers, signal: limit, redirect: 'error' });
  if (!response.ok) throw new Error(`the list of models was answered with status ${response.status}`);
  const { bytes, complete } = await readAtMost(response.body, LIST_BYTES);
  if (!complete) throw new Error(`the list of models is longer than ${LIST_BYTES} bytes`);
  const body = JSON.parse(bytes.toString('utf8')) as { data?: unknown; models?: unknown } | null;
  const list = body?.data ?? body?.models;
  if (!Array.isArray(list)) throw new Error('the list of models is none');
  return list.flatMap((entry: { id?: unknown; name?: unknown; active?: unknown } | null) => {
    const name = entry?.id ?? entry?.name;
    return typeof name === 'string' && entry?.active !== false ? [name.replace(/^models\//, '')] : [];
  });
}
