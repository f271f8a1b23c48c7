// What leaves for providers that want more than a bearer token, as a server sees it.
import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ModelRequest } from '../../core/model.ts';
import { FakeClock, tempDir } from '../../testing/fakes.ts';
import { jsonReply, startModelServer, stream, textPieces } from '../../testing/model-server.ts';
import { collect, modelRequest } from '../contract.ts';
import { createWire } from '../create.ts';
import { signAws } from '../signing/aws.ts';
import { resolveKey } from './key.ts';
import { type ModelConfig, resolveProvider } from './resolve.ts';

const live = new AbortController().signal;

async function sent(config: ModelConfig, env: Record<string, string>, path: string, more: Partial<ModelRequest> = {}) {
  const clock = new FakeClock();
  await using server = await startModelServer({ script: () => stream(textPieces('ok')) });
  const target = resolveProvider({ ...config, base_url: `${server.url}${path}` }, env);
  const key = await resolveKey(target, { env });
  const model = createWire(target, key?.value(), { clock, timeouts: { connectMs: 1_000, totalMs: 5_000 } });
  const events = await collect(model.call(modelRequest('hi', more), live));
  const [request] = server.requests;
  if (!request) throw new Error(`nothing was sent: ${JSON.stringify(events.at(-1))}`);
  return { request, now: clock.now(), url: `${server.url}${request.path}` };
}

const AWS = {
  AWS_REGION: 'eu-west-1',
  AWS_ACCESS_KEY_ID: 'AKID',
  AWS_SECRET_ACCESS_KEY: 'aws-secret',
  AWS_SESSION_TOKEN: 'session',
};

describe('addresses', () => {
  test.each([
    [
      { provider: 'azure', model: 'mine' },
      { AZURE_OPENAI_ENDPOINT: 'https://me.openai.azure.com/' },
      'https://me.openai.azure.com/openai/v1',
    ],
    [
      { provider: 'azure', model: 'mine' },
      { AZURE_OPENAI_ENDPOINT: 'https://me.azure.com/openai/v1/' },
      'https://me.azure.com/openai/v1',
    ],
    [{ model: 'bedrock/openai.gpt-oss-120b-1:0' }, AWS, 'https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1'],
    // An inference profile is known at one endpoint, a bare id at the other.
    [{ provider: 'bedrock' }, AWS, 'https://bedrock-runtime.eu-west-1.amazonaws.com/anthropic'],
    [{ model: 'bedrock/us.anthropic.claude-opus-5-5' }, AWS, 'https://bedrock-runtime.eu-west-1.amazonaws.com/anthropic'],
    [{ model: 'bedrock/anthropic.claude-opus-5-5' }, AWS, 'https://bedrock-mantle.eu-west-1.api.aws/anthropic'],
    [
      { model: 'vertex/gemini-3.8-flash' },
      { GOOGLE_CLOUD_PROJECT: 'p1', GOOGLE_CLOUD_LOCATION: 'europe-west4' },
      'https://europe-west4-aiplatform.googleapis.com/v1/projects/p1/locations/europe-west4/publishers/google',
    ],
    [
      { model: 'vertex/gemini-3.8-flash' },
      { GOOGLE_CLOUD_PROJECT: 'p1' },
      'https://aiplatform.googleapis.com/v1/projects/p1/locations/global/publishers/google',
    ],
    [
      { model: 'vertex/gemini-3.8-flash' },
      { GOOGLE_CLOUD_PROJECT: 'p1', GOOGLE_CLOUD_LOCATION: 'eu' },
      'https://aiplatform.eu.rep.googleapis.com/v1/projects/p1/locations/eu/publishers/google',
    ],
    [
      { model: 'vertex/gemini-3.8-flash' },
      { GOOGLE_CLOUD_PROJECT: 'p1', GOOGLE_CLOUD_LOCATION: 'us' },
      'https://aiplatform.us.rep.googleapis.com/v1/projects/p1/locations/us/publishers/google',
    ],
  ])('%j', (config, env, baseUrl) => expect(resolveProvider(config, env).baseUrl).toBe(baseUrl));

  test.each([
    ['azure', 'AZURE_OPENAI_ENDPOINT'],
    ['bedrock', 'AWS_REGION'],
    ['vertex', 'GOOGLE_CLOUD_PROJECT'],
  ])('%s without its account names the variable %s', (provider, variable) => {
    expect(() => resolveProvider({ provider, model: 'm' }, {})).toThrow(
      expect.objectContaining({ code: 'GH1101', message: expect.stringContaining(variable) }),
    );
  });
});

test('azure: the key is in its own header and nowhere else', async () => {
  const { request } = await sent({ provider: 'azure', model: 'mine' }, { AZURE_OPENAI_API_KEY: 'az-key' }, '/openai/v1');
  expect(request.path).toBe('/openai/v1/chat/completions');
  expect([request.headers['api-key'], request.headers.authorization]).toEqual(['az-key', undefined]);
});

test('bedrock: a Bedrock API key goes as it is, before any other credentials', async () => {
  const env = { ...AWS, AWS_BEARER_TOKEN_BEDROCK: 'bedrock-key' };
  const { request } = await sent({ provider: 'bedrock', model: 'openai.gpt-oss-120b-1:0' }, env, '/openai/v1');
  expect(request.headers.authorization).toBe('Bearer bedrock-key');
});

test('bedrock: without one the request is signed as it leaves, with what the config adds to it', async () => {
  const config = {
    provider: 'bedrock',
    model: 'openai.gpt-oss-120b-1:0',
    extra_body: { service_tier: 'flex' },
    extra_headers: { 'X-Team': 'a' },
  };
  const { request, now, url } = await sent(config, AWS, '/openai/v1');
  expect(request.body).toMatchObject({ service_tier: 'flex', model: 'openai.gpt-oss-120b-1:0' });
  const { authorization, host, 'x-amz-date': date, 'x-amz-security-token': session, 'x-team': team } = request.headers;
  expect([host, session, team]).toEqual([new URL(url).host, 'session', 'a']);
  const unsigned = {
    method: 'POST',
    url,
    headers: new Headers({ 'content-type': 'application/json' }),
    body: JSON.stringify(request.body),
    now,
  };
  const scope = {
    accessKeyId: 'AKID',
    secretAccessKey: 'aws-secret',
    sessionToken: 'session',
    region: 'eu-west-1',
    service: 'bedrock',
  };
  expect({ authorization, 'x-amz-date': date, 'x-amz-security-token': session }).toEqual(signAws(unsigned, scope));
});

test('bedrock: Claude has the Anthropic wire, with a key in its header or with a signature for that endpoint', async () => {
  const config = { provider: 'bedrock', model: 'anthropic.claude-sonnet-5-5' };
  const keyed = await sent(config, { ...AWS, AWS_BEARER_TOKEN_BEDROCK: 'bedrock-key' }, '/anthropic');
  expect(keyed.request.path).toBe('/anthropic/v1/messages');
  expect([keyed.request.headers['x-api-key'], keyed.request.headers.authorization]).toEqual(['bedrock-key', undefined]);
  const signed = await sent(config, AWS, '/anthropic');
  expect(signed.request.headers['x-api-key']).toBeUndefined();
  expect(signed.request.headers.authorization).toMatch(/\/eu-west-1\/bedrock-mantle\/aws4_request, SignedHeaders=/);
});

test('bedrock: a request by an inference profile is signed for the endpoint that knows it', async () => {
  const signed = await sent({ provider: 'bedrock', model: 'eu.anthropic.claude-sonnet-5-5' }, AWS, '/anthropic');
  expect(signed.request.headers.authorization).toMatch(/\/eu-west-1\/bedrock\/aws4_request, SignedHeaders=/);
});

test('M7 bedrock: Claude is told to cache the prompt and how much to think, as at its maker', async () => {
  const config = { provider: 'bedrock', model: 'us.anthropic.claude-opus-5-5' };
  const { request } = await sent(config, { ...AWS, AWS_BEARER_TOKEN_BEDROCK: 'k' }, '/anthropic', { thinking: 'low' });
  const marked = { cache_control: { type: 'ephemeral' } };
  expect(request.body).toMatchObject({
    system: [marked],
    messages: [{ content: [marked] }],
    thinking: { type: 'adaptive' },
    output_config: { effort: 'low' },
  });
});

test('vertex: the token of the service account goes to the address of the project, on the Gemini wire', async () => {
  await using dir = await tempDir();
  await using tokens = await startModelServer({ script: () => jsonReply({ access_token: 'vertex-token', expires_in: 3_600 }) });
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const file = join(dir.path, 'account.json');
  const account = { type: 'service_account', client_email: 'bot@p', token_uri: `${tokens.url}/token` };
  await writeFile(file, JSON.stringify({ ...account, private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }) }));
  const env = { GOOGLE_CLOUD_PROJECT: 'p', GOOGLE_APPLICATION_CREDENTIALS: file };
  const path = '/v1/projects/p/locations/global/publishers/google';
  const { request } = await sent({ model: 'gemini-3.8-flash', provider: 'vertex' }, env, path);
  expect(request.path).toMatch(new RegExp(`^${path}/models/.*gemini-3.8-flash:streamGenerateContent`));
  expect([request.headers.authorization, request.headers['x-goog-api-key']]).toEqual(['Bearer vertex-token', undefined]);
});

test('A29 bedrock and vertex without credentials name the variable, and a secret is in no target that is printed', async () => {
  const target = resolveProvider({ provider: 'bedrock', model: 'm' }, { AWS_REGION: 'eu-west-1' });
  await expect(resolveKey(target, { env: {} })).rejects.toMatchObject({
    code: 'GH1103',
    message: expect.stringContaining('AWS_BEARER_TOKEN_BEDROCK'),
  });
  const signed = resolveProvider({ provider: 'bedrock', model: 'm' }, AWS);
  expect(signed.credentials?.secrets()).toEqual(['aws-secret', 'session']);
  expect(JSON.stringify(signed)).not.toMatch(/aws-secret|"session"/);
  const vertex = resolveProvider({ model: 'vertex/gemini-3.8-flash' }, { GOOGLE_CLOUD_PROJECT: 'p' });
  await expect(resolveKey(vertex, { env: {} })).rejects.toMatchObject({
    message: expect.stringContaining('GOOGLE_APPLICATION_CREDENTIALS'),
  });
});

test.each([
  [{ provider: 'azure' }, { AZURE_OPENAI_API_KEY: 'k' }],
  [{ provider: 'azure', model: 'gpt-5.6-luna' }, { AZURE_OPENAI_API_KEY: 'k' }],
  [
    { provider: 'bedrock', model: 'global.openai.gpt-6.1-terra' },
    { ...AWS, AWS_BEARER_TOKEN_BEDROCK: 'k' },
  ],
])('%j: a model that takes no tools beside its thinking on the chat wire is asked on the other one', async (config, env) => {
  const { request } = await sent(config, env, '/openai/v1');
  expect(request.path).toBe('/openai/v1/responses');
  expect(request.body).toMatchObject({ include: ['reasoning.encrypted_content'] });
});

test.each([
  [
    { provider: 'bedrock', model: 'us.openai.gpt-6-sol' },
    { ...AWS, AWS_BEARER_TOKEN_BEDROCK: 'k' },
  ],
  [{ provider: 'azure', model: 'prod-gpt-6-sol' }, { AZURE_OPENAI_API_KEY: 'k' }],
  [{ provider: 'azure', model: 'prod-o4-mini' }, { AZURE_OPENAI_API_KEY: 'k' }],
  [{ provider: 'azure', model: 'GPT-6-Sol' }, { AZURE_OPENAI_API_KEY: 'k' }],
])('%j: a model that reasons is given no temperature, which it would refuse', async (config, env) => {
  const { request } = await sent(config, env, '/openai/v1', { temperature: 0, thinking: 'off' });
  expect(request.body).not.toHaveProperty('temperature');
});
