import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PROVIDERS } from '../providers/index.ts';
import { catalogRows } from './catalog.ts';
import { isLoopback, priceAt, priceOf } from './price.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');
const at = (provider: string, model: string, now = NOW) => priceOf(provider, model, undefined, now);

describe('a model that is listed', () => {
  test.each([
    ['anthropic', 'claude-opus-5-5', { in: 4, out: 20, cached: 0.2, cacheWrite: 5 }],
    ['anthropic', 'claude-sonnet-5-5', { in: 2, out: 10, cached: 0.1, cacheWrite: 2.5 }],
    ['openai', 'gpt-6.1-sol', { in: 2, out: 10, cached: 0.1, cacheWrite: 2.5 }],
    ['openai', 'o3', { in: 2, out: 8, cached: 0.5 }],
    ['gemini', 'gemini-2.5-pro', { in: 1.25, out: 10, cached: 0.125 }],
    ['deepseek', 'deepseek-v4-pro', { in: 1.32, out: 3.96, cached: 0.044 }],
    ['deepseek', 'deepseek-v4-flash', { in: 0.3, out: 1.2, cached: 0.006 }],
    ['openrouter', 'anthropic/claude-sonnet-5.5', { in: 2, out: 10, cached: 0.1, cacheWrite: 2.5 }],
  ])('%s/%s costs what its row says and is no guess', (provider, model, price) => {
    expect(at(provider, model)).toMatchObject(price);
    expect(at(provider, model)?.guess).toBeUndefined();
  });

  test('long input has rates of its own', () => {
    expect(at('anthropic', 'claude-haiku-5-5')?.tiers).toMatchObject([{ aboveTokensIn: 100_000, in: 0.5, out: 2.5 }]);
    expect(at('openai', 'gpt-6-sol')?.tiers).toMatchObject([{ aboveTokensIn: 272_000, in: 4, out: 15 }]);
  });

  test('an announced price holds from its day on, and stands beside the one of today until then', () => {
    const on = (day: string) => at('gemini', 'gemini-3.8-flash', Date.parse(day));
    const later = { in: 1.5, out: 7.5, cached: 0.15 };
    const today = { in: 0.75, out: 3.75, cached: 0.075, later: { from: '2027-01-01', price: later } };
    expect(on('2026-11-22')).toEqual(today);
    expect(on('2026-12-31T23:59:59Z')).toEqual(today);
    expect(on('2027-01-01')).toEqual(later);
    // A daemon that was started before has the price of then.
    expect(priceAt(on('2026-11-22'), Date.parse('2026-12-31'))).toEqual(today);
    expect(priceAt(on('2026-11-22'), Date.parse('2027-01-01'))).toEqual(later);
  });

  test('a model with many hosts costs at most what its maker asks', () => {
    expect(at('openrouter', 'moonshotai/kimi-k3')).toMatchObject({ in: 3, out: 15, guess: true });
    expect(at('nvidia', 'moonshotai/kimi-k2.6')).toMatchObject({ in: 0.95, out: 4, guess: true });
  });
});

describe('a model that is not listed', () => {
  test.each([
    ['anthropic', 'claude-haiku-9', 1, 5], // the dearest of its family
    ['anthropic', 'claude-nova-1', 10, 50], // the dearest of its maker
    ['zai', 'glm-5.3-highspeed', 1.4, 4.4],
    ['openai-compatible', 'deepseek-v4-pro', 2.31, 4.5936], // the dearest of that name anywhere
    ['r9s', 'gpt-6-luna', 0.24, 0.9], // with the rates for long input
  ])('%s/%s costs at most %d in and %d out, as a guess', (provider, model, input, output) => {
    expect(at(provider, model)).toMatchObject({ in: input, out: output, guess: true });
  });

  test('its bound is not below any model that is taken for its like', () => {
    const bound = at('anthropic', 'claude-opus-9');
    const rows = catalogRows('anthropic').filter(([id, row]) => id.startsWith('claude-opus') && row.price);
    expect(rows.length).toBeGreaterThan(3);
    for (const [id, row] of rows) {
      expect(bound?.in, id).toBeGreaterThanOrEqual(row.price?.in ?? 0);
      expect(bound?.out, id).toBeGreaterThanOrEqual(row.price?.out ?? 0);
      expect(bound?.cached, id).toBeGreaterThanOrEqual(row.price?.cached ?? 0);
    }
    expect(bound?.cached).toBeLessThan(bound?.in ?? 0);
  });

  test.each(['unheard-of', 'turbo3', 'foo-o4', '', '1.5b', 'ollama/xyz'])('%j is unknown, which is null', (name) => {
    expect(at('openai-compatible', name)).toBeNull();
  });
});

describe('servers of this machine', () => {
  test('ollama and vllm on loopback cost nothing; elsewhere the catalog decides', () => {
    expect(priceOf('ollama', 'llama3.2')).toEqual({ in: 0, out: 0 });
    expect(priceOf('ollama', 'unheard-of', 'http://[::1]:11434/v1')).toEqual({ in: 0, out: 0 });
    expect(priceOf('vllm', 'qwen3', 'http://127.0.0.1:8000/v1')).toEqual({ in: 0, out: 0 });
    expect(priceOf('ollama', 'glm-4.7', 'https://ollama.com/v1')?.guess).toBe(true);
    expect(priceOf('ollama', 'unheard-of', 'http://192.168.1.5:11434/v1')).toBeNull();
    expect(priceOf('vllm', 'unheard-of')).toBeNull();
  });

  test('what a local server passes on to a paid service is not free', () => {
    expect(priceOf('ollama', 'gpt-oss:120b-cloud')?.in).toBeGreaterThan(0);
    expect(priceOf('ollama', 'unheard-of:1t-cloud')).toBeNull();
    expect(priceOf('openai-compatible', 'm', 'http://127.0.0.1:4000/v1')).toBeNull();
    expect(priceOf('openai', 'gpt-4o', 'http://127.0.0.1:4000/v1')).toMatchObject({ in: 2.5, out: 10 });
  });

  test.each([
    ['http://localhost:1', true],
    ['http://LOCALHOST.:1', true],
    ['http://models.localhost', true],
    ['http://127.8.9.10/v1', true],
    ['http://[::1]/', true],
    ['http://0.0.0.0:8000/v1', true],
    ['http://[::]:8000', true],
    ['http://0.0.0.0.evil.example', false],
    ['http://127.0.0.1.evil.example', false],
    ['http://localhost.evil.example', false],
    ['http://notlocalhost', false],
    ['http://10.0.0.1', false],
    ['nonsense', false],
  ])('%s is loopback: %s', (address, expected) => {
    expect(isLoopback(address)).toBe(expected);
  });
});

test('no price is 0 away from this machine, and one that no row states is a guess', () => {
  const names = PROVIDERS.map(({ name }) => name);
  const listed = fc.constantFrom(...names.flatMap((name) => catalogRows(name).map(([id]) => id)));
  const model = fc.oneof(
    fc.string(),
    fc.tuple(fc.string(), listed, fc.string()).map((parts) => parts.join('')),
  );
  const remote = fc.constantFrom('https://models.example/v1', 'http://192.168.0.2:11434/v1');
  fc.assert(
    fc.property(fc.constantFrom(...names, 'unknown'), model, remote, (name, text, address) => {
      const price = priceOf(name, text, address, NOW);
      if (price) expect(price.in > 0 && price.out > 0).toBe(true);
      const own = catalogRows(name).some(([id, row]) => row.price && id.toLowerCase() === text.toLowerCase());
      if (price && !own) expect(price.guess).toBe(true);
    }),
    { numRuns: 300 },
  );
});
