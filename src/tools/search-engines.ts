// query -> the engines of the config, one after the other, until one answers -> hits
import { z } from 'zod';
import type { Egress, EgressRequest, SearchHit, WebSearch } from '../core/egress.ts';
import type { Logger } from '../core/ports.ts';
import { readDuckDuckGo } from './duckduckgo-page.ts';

const TIMEOUT_MS = 15_000;
const MAX_BODY_BYTES = 2 * 1024 ** 2;
/** Of the text of a page that an engine is asked for. */
const SNIPPET_CHARS = 500;
const MAX_HITS = 50;

const text = z.string().nullish();
/** What else there is in an answer is of no use here. */
const hit = z.object({
  ...{ title: text, url: z.string(), content: text, text, snippet: text, description: text },
  snippets: z.array(z.string()).nullish(),
});
const hits = z.object({ results: z.array(hit).max(MAX_HITS) });

type Asked = Pick<EgressRequest, 'url' | 'method' | 'headers' | 'body'>;

interface Engine {
  readonly baseUrl: string;
  request(base: string, key: string, query: string, count: number): Asked;
  /** Throws for what is no answer of this engine. */
  readonly read: (body: string) => z.output<typeof hits>;
}

/** In the order in which they are asked (spec G1). */
const ENGINES = {
  // docs.tavily.com/api-reference/endpoint/search
  tavily: {
    baseUrl: 'https://api.tavily.com',
    request: (base, key, query, count) => ({
      ...post({ query, max_results: count, search_depth: 'basic' }, { authorization: `Bearer ${key}` }),
      url: `${base}/search`,
    }),
    read: (body) => hits.parse(JSON.parse(body)),
  },
  // No documented interface: the page for browsers without scripts,
  // duckduckgo.com/duckduckgo-help-pages/features/non-javascript
  duckduckgo: {
    baseUrl: 'https://html.duckduckgo.com',
    request: (base, _key, query) => ({
      url: `${base}/html/?${new URLSearchParams({ q: query })}`,
      headers: { accept: 'text/html' },
    }),
    read: (body) => hits.parse({ results: readDuckDuckGo(body) }),
  },
  // docs.exa.ai/reference/search
  exa: {
    baseUrl: 'https://api.exa.ai',
    request: (base, key, query, count) => ({
      ...post({ query, numResults: count, contents: { text: { maxCharacters: SNIPPET_CHARS } } }, { 'x-api-key': key }),
      url: `${base}/search`,
    }),
    read: (body) => hits.parse(JSON.parse(body)),
  },
  // api-dashboard.search.brave.com/api-reference/web/search/get
  brave: {
    baseUrl: 'https://api.search.brave.com/res/v1',
    request: (base, key, query, count) => ({
      url: `${base}/web/search?${new URLSearchParams({ q: query, count: String(count), text_decorations: 'false' })}`,
      headers: { accept: 'application/json', 'x-subscription-token': key },
    }),
    // No `web` = it found nothing.
    read: (body) => z.object({ web: hits.optional() }).parse(JSON.parse(body)).web ?? { results: [] },
  },
  // you.com/resources/you-com-web-search-api, docs.you.com
  you: {
    baseUrl: 'https://ydc-index.io/v1',
    request: (base, key, query, count) => ({ ...post({ query, count }, { 'x-api-key': key }), url: `${base}/search` }),
    read: (body) => {
      const { web } = z.object({ results: z.object({ web: hits.shape.results.nullish() }) }).parse(JSON.parse(body)).results;
      return { results: web ?? [] };
    },
  },
  // docs.perplexity.ai/api-reference/search-post
  perplexity: {
    baseUrl: 'https://api.perplexity.ai',
    request: (base, key, query, count) => ({
      ...post({ query, max_results: count }, { authorization: `Bearer ${key}` }),
      url: `${base}/search`,
    }),
    read: (body) => hits.parse(JSON.parse(body)),
  },
} satisfies Readonly<Record<string, Engine>>;

export type EngineName = keyof typeof ENGINES;
const NAMES = Object.keys(ENGINES) as readonly EngineName[];

export interface EngineAccess {
  /** Empty for an engine that wants none. */
  readonly key: string;
  /** Default: the engine's own address. */
  readonly baseUrl?: string | undefined;
}

export interface SearchOptions {
  readonly engines: Readonly<Partial<Record<EngineName, EngineAccess>>>;
  readonly egress: Egress;
  readonly logger: Logger;
}

/** Undefined = no engine is there to be asked. */
export function createSearch({ engines, egress, logger }: SearchOptions): WebSearch | undefined {
  const asked = NAMES.flatMap((name) => (engines[name] ? [{ name, access: engines[name] }] : []));
  if (asked.length === 0) return undefined;
  return async (query, count, signal) => {
    const reasons: string[] = [];
    for (const { name, access } of asked) {
      const found = await ask(ENGINES[name], access, { query, count, egress }, signal);
      if ('hits' in found) return { kind: 'found', source: name, hits: found.hits.slice(0, count) };
      logger.warn('search.failed', { engine: name, detail: found.problem });
      reasons.push(`${name}: ${found.problem}`);
    }
    return { kind: 'failed', reason: reasons.join('; ') };
  };
}

interface Question {
  readonly query: string;
  readonly count: number;
  readonly egress: Egress;
}

async function ask(
  engine: Engine,
  { key, baseUrl = engine.baseUrl }: EngineAccess,
  { query, count, egress }: Question,
  signal: AbortSignal,
): Promise<{ readonly hits: readonly SearchHit[] } | { readonly problem: string }> {
  const asked = engine.request(baseUrl.replace(/\/+$/, ''), key, query, count);
  const answer = await egress({ tool: 'web_search', ...asked, maxBytes: MAX_BODY_BYTES, timeoutMs: TIMEOUT_MS }, signal);
  if (answer.kind !== 'answer') return { problem: answer.reason };
  // What an engine says of a failure may hold the key.
  if (answer.status !== 200) return { problem: `HTTP status ${answer.status}` };
  try {
    return { hits: engine.read(answer.bytes.toString()).results.map(hitOf) };
  } catch {
    return { problem: 'its answer cannot be understood' };
  }
}

function hitOf({ title, url, content, text: ofPage, snippet, snippets, description }: z.output<typeof hit>): SearchHit {
  return { title: title ?? '', url, snippet: content ?? ofPage ?? snippet ?? snippets?.[0] ?? description ?? '' };
}

function post(body: Readonly<Record<string, unknown>>, headers: Readonly<Record<string, string>>): Omit<Asked, 'url'> {
  const json = { accept: 'application/json', 'content-type': 'application/json' };
  return { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) };
}
