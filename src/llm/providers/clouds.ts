/** Providers in a cloud account: address and credentials are in the variables that the cloud's tools read. */
import { loadOnce } from '../../lib/load-once.ts';
import type { Signer } from '../protocols/wire-guard.ts';
import type { Env, Provider, Wire } from './provider.ts';

/**
 * The v1 API needs no `api-version`: https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle.
 * The model is the name of a deployment.
 */
export const azure: Provider = {
  name: 'azure',
  aliases: ['azure-openai'],
  wire: 'openai-chat',
  // These take no tools beside their thinking there (github.com/Gitlawb/openclaude/issues/1957).
  modelWires: [[/^o\d|gpt-[5-9](?!.*-chat)/, 'openai-responses']],
  otherWires: ['openai-responses'],
  keyEnv: 'AZURE_OPENAI_API_KEY',
  keyHeader: 'api-key',
  keyRequired: true,
  addressEnv: 'AZURE_OPENAI_ENDPOINT',
  address: (env) => {
    const endpoint = set(env, 'AZURE_OPENAI_ENDPOINT');
    return endpoint && `${endpoint.replace(/(?:\/openai(?:\/v1)?)?\/*$/, '')}/openai/v1`;
  },
  detect: [],
};

/** By its bare id Claude is at `bedrock-mantle`, by an inference profile at `bedrock-runtime`: else 404. */
const isAtMantle = (wire: Wire, model: string): boolean => wire === 'anthropic' && model.startsWith('anthropic.');

/**
 * Claude has the Anthropic wire
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/inference-messages-api.html), what else there is the
 * OpenAI ones (inference-chat-completions.html, inference-responses-api.html). With a Bedrock API key or with
 * signed requests.
 */
export const bedrock: Provider = {
  name: 'bedrock',
  aliases: ['aws', 'amazon-bedrock'],
  wire: 'openai-chat',
  modelWires: [
    [/anthropic\.|claude/, 'anthropic'],
    [/openai\.gpt-[5-9]/, 'openai-responses'],
  ],
  otherWires: ['openai-responses', 'anthropic'],
  keyEnv: 'AWS_BEARER_TOKEN_BEDROCK',
  keyRequired: true,
  addressEnv: 'AWS_REGION',
  address: (env, wire, model) => {
    const region = regionOf(env);
    if (!region) return undefined;
    if (isAtMantle(wire, model)) return `https://bedrock-mantle.${region}.api.aws/anthropic`;
    return `https://bedrock-runtime.${region}.amazonaws.com/${wire === 'anthropic' ? 'anthropic' : 'openai/v1'}`;
  },
  credentials: (env, wire, model) => {
    const [accessKeyId, secretAccessKey] = [set(env, 'AWS_ACCESS_KEY_ID'), set(env, 'AWS_SECRET_ACCESS_KEY')];
    const [sessionToken, region] = [set(env, 'AWS_SESSION_TOKEN'), regionOf(env)];
    if (set(env, 'AWS_BEARER_TOKEN_BEDROCK') || !accessKeyId || !secretAccessKey || !region) return undefined;
    const service = isAtMantle(wire, model) ? 'bedrock-mantle' : 'bedrock';
    const scope = { accessKeyId, secretAccessKey, sessionToken, region, service };
    return {
      from: 'AWS_ACCESS_KEY_ID',
      secrets: () => [secretAccessKey, ...(sessionToken ? [sessionToken] : [])],
      sign: async (request) => (await import('../signing/aws.ts')).signAws(request, scope),
    };
  },
  detect: [],
};

/** The Gemini wire at the address of a project, with the token of a service account. */
export const vertex: Provider = {
  name: 'vertex',
  aliases: ['vertexai', 'google-vertex'],
  wire: 'gemini',
  keyEnv: 'GOOGLE_APPLICATION_CREDENTIALS',
  keyRequired: true,
  addressEnv: 'GOOGLE_CLOUD_PROJECT',
  address: (env) => {
    const project = set(env, 'GOOGLE_CLOUD_PROJECT');
    const location = set(env, 'GOOGLE_CLOUD_LOCATION') ?? 'global';
    // https://docs.cloud.google.com/gemini-enterprise-agent-platform/resources/locations: "Multi-region endpoints"
    const regional = ['eu', 'us'].includes(location) ? `aiplatform.${location}.rep` : `${location}-aiplatform`;
    const host = location === 'global' ? 'aiplatform' : regional;
    return project && `https://${host}.googleapis.com/v1/projects/${project}/locations/${location}/publishers/google`;
  },
  credentials: (env) => {
    const file = set(env, 'GOOGLE_APPLICATION_CREDENTIALS');
    const signer = loadOnce(async () => (await import('../signing/google.ts')).googleSigner(file ?? ''));
    const sign: Signer = async (request) => await (await signer())(request);
    return file ? { from: 'GOOGLE_APPLICATION_CREDENTIALS', secrets: () => [], sign } : undefined;
  },
  detect: [],
};

function regionOf(env: Env): string | undefined {
  return set(env, 'AWS_REGION') ?? set(env, 'AWS_DEFAULT_REGION');
}

function set(env: Env, name: string): string | undefined {
  return env[name]?.trim() || undefined;
}
