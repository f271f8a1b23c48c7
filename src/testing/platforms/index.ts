import type { Platform, PlatformOptions } from './platform.ts';

/** Starts a platform by its channel's type. `double` is the one with every guarantee, which no channel of the registry has. */
export const PLATFORMS: Readonly<Record<string, (options: PlatformOptions) => Promise<Platform>>> = {
  telegram: async () => (await import('./telegram.ts')).startTelegramPlatform(),
  discord: async () => (await import('./discord.ts')).startDiscordPlatform(),
  email: async () => (await import('./email.ts')).startEmailPlatform(),
  slack: async () => (await import('./slack.ts')).startSlackPlatform(),
  whatsapp: async () => (await import('./whatsapp.ts')).startWhatsAppPlatform(),
  feishu: async () => (await import('./feishu.ts')).startFeishuPlatform(),
  twilio: async (options) => (await import('./twilio.ts')).startTwilioPlatform(options),
  wecom: async (options) => (await import('./wecom.ts')).startWecomPlatform(options),
  cli: async () => (await import('./cli.ts')).startTerminalPlatform(),
  double: async () => (await import('./double.ts')).startDoublePlatform(),
};
