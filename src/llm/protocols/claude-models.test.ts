import { expect, test } from 'vitest';
import { catalogRows } from '../catalog/catalog.ts';
import { resolveProvider } from '../providers/resolve.ts';
import { claudeModel, claudeThinking } from './claude-models.ts';

const MODELS = ['anthropic', 'bedrock'].flatMap((provider) =>
  catalogRows(provider).flatMap(([model]) =>
    /claude-(?:fable-|opus-5-5|sonnet-5-5)/.test(model) ? [[provider, model] as const] : [],
  ),
);

test.each(MODELS)('%s/%s, which cannot stop thinking, is never told to', (provider, model) => {
  const { facts } = resolveProvider({ provider, model }, { AWS_REGION: 'eu-west-1' });
  const asked = claudeThinking(claudeModel(model), facts, 'off', { maxTokens: 64_000, mayBegin: true });
  expect(asked.thinking?.type).not.toBe('disabled');
});

test('models of both providers are among them', () => {
  expect(new Set(MODELS.map(([provider]) => provider))).toEqual(new Set(['anthropic', 'bedrock']));
});
