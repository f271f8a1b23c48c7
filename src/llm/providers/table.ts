import type { Provider } from './provider.ts';

/** https://docs.x.ai/developers/introduction: Responses is the wire for new programs; nothing is kept at the server with `store: false`. */
export const xai: Provider = {
  ...oneKey('xai', 'XAI_API_KEY', 'https://api.x.ai/v1'),
  aliases: ['grok'],
  wire: 'openai-responses',
  otherWires: ['openai-chat'],
  detect: [/grok/],
};

export const mistral: Provider = {
  ...oneKey('mistral', 'MISTRAL_API_KEY', 'https://api.mistral.ai/v1'),
  detect: [/^(?:mistral|ministral|magistral|devstral|codestral)/],
};

export const together: Provider = {
  ...oneKey('together', 'TOGETHER_API_KEY', 'https://api.together.xyz/v1'),
};

export const fireworks: Provider = {
  ...oneKey('fireworks', 'FIREWORKS_API_KEY', 'https://api.fireworks.ai/inference/v1'),
};

export const cerebras: Provider = {
  ...oneKey('cerebras', 'CEREBRAS_API_KEY', 'https://api.cerebras.ai/v1'),
};

/** A server of the chat wire that takes one key. */
function oneKey(name: string, keyEnv: string, baseUrl: string): Provider {
  return { name, aliases: [], wire: 'openai-chat', keyEnv, keyRequired: true, baseUrl, detect: [] };
}
