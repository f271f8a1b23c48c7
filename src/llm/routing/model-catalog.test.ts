import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../testing/fakes.ts';
import { scriptedModel } from '../../testing/scripted-model.ts';
import { exportCatalog, parseModelCatalog, parseProviderBaseline } from './model-catalog.ts';
import { SlotState } from './slot.ts';

const FILE = {
  updated_at: '2026-01-01T00:00:00.000Z',
  models: [
    {
      provider: 'a/1',
      type: 'strong',
      stability: 0.9,
      tool_avg_ms: 800,
      p95_ms: 2_000,
      score: 0.2,
      cost_in: 3,
      cost_out: 15,
      ds_output: 40,
      context_window: 200_000,
      max_output: 64_000,
    },
    { provider: 'b/2', stability: 'often', cost_in: -1, type: 'odd', p95_ms: null },
    { type: 'fast' },
    'nonsense',
  ],
};

describe('model_catalog.json and provider_baseline.json (spec B5)', () => {
  test('a catalog is read by provider/model; what makes no sense is unknown', () => {
    expect([...parseModelCatalog(FILE)]).toEqual([
      [
        'a/1',
        {
          type: 'strong',
          stability: 0.9,
          toolAvgMs: 800,
          p95Ms: 2_000,
          score: 0.2,
          costIn: 3,
          costOut: 15,
          dsOutput: 40,
          contextWindow: 200_000,
          maxOutput: 64_000,
        },
      ],
      ['b/2', {}],
    ]);
    for (const junk of [null, 1, 'x', [], {}, { models: 3 }]) expect(parseModelCatalog(junk).size).toBe(0);
  });

  test('a baseline needs stability, average and p95', () => {
    expect([...parseProviderBaseline(FILE)]).toEqual([['a/1', { stability: 0.9, averageMs: 800, p95Ms: 2_000 }]]);
  });

  test('the export blends the catalog with what was measured, and can be read back', () => {
    const catalog = parseModelCatalog(FILE).get('a/1') ?? {};
    const slot = new SlotState({ model: scriptedModel([], { id: 'a/1' }), catalog }, { clock: new FakeClock() });
    for (let i = 0; i < 5; i += 1) slot.metrics.failed({ expected: false });
    const file = exportCatalog([slot], [0.3], 0);
    expect(file.updated_at).toBe('1970-01-01T00:00:00.000Z');
    expect(file.models[0]).toMatchObject({ provider: 'a/1', stability: 0.45, tool_avg_ms: 800, cost_out: 15, score: 0.3 });
    const again = parseModelCatalog(JSON.parse(JSON.stringify(file))).get('a/1');
    expect(again).toEqual({ ...catalog, stability: 0.45, score: 0.3, contextWindow: 128_000 });
  });
});
