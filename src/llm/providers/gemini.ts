import type { Provider } from './provider.ts';

export const gemini: Provider = {
  name: 'gemini',
  aliases: ['google'],
  wire: 'gemini',
  keyEnv: 'GEMINI_API_KEY',
  keyRequired: true,
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  baseUrlEnv: 'GOOGLE_GEMINI_BASE_URL',
  detect: [/gemini/],
};
