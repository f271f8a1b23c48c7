import { GatehouseError } from '../../core/errors.ts';
import type { Provider, Wire } from './provider.ts';

/**
 * The address as the wire wants it: the Anthropic client adds `/v1` itself, the Gemini client adds nothing.
 * Throws GH1101 without the address, because it may hold a password.
 */
export function baseUrlFor(provider: Provider, wire: Wire, configured: string | undefined): string {
  const { name, baseUrl, addressEnv } = provider;
  const text = configured ?? baseUrl;
  if (!text) {
    const hint = addressEnv ? `export ${addressEnv}=…, or add "base_url" to the config` : 'add "base_url" to the config';
    throw new GatehouseError('GH1101', `provider "${name}" needs ${addressEnv ?? 'a base_url'}`, { hint });
  }
  const url = URL.parse(text);
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new GatehouseError('GH1101', 'base_url is not an http or https URL', {
      hint: 'write it like "http://127.0.0.1:8000/v1"',
    });
  }
  if (url.username || url.password) {
    throw new GatehouseError('GH1101', 'base_url holds a user name or password', {
      hint: 'put the key into a variable and name it in api_key_env',
    });
  }
  const trimmed = text.replace(/\/+$/, '');
  if (wire === 'anthropic') return trimmed.replace(/\/v1$/, '');
  if (wire === 'gemini' && url.pathname === '/' && !url.search) return `${trimmed}/v1beta`;
  return trimmed;
}
