import type { Platform, PlatformOptions } from './platform.ts';

/** Starts a platform by its channel's type. `double` has every guarantee and is in no registry. */
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

/** Those of `PLATFORMS` that call the daemon, or can: then each of them does. */
export const CALLING: Readonly<Record<string, (options: PlatformOptions) => Promise<Platform>>> = {
  telegram: async (options) => (await import('./telegram.ts')).startTelegramWebhook(options),
  slack: async (options) => (await import('./slack.ts')).startSlackByHttp(options),
  feishu: async (options) => (await import('./feishu.ts')).startFeishuByWebhook(options),
  twilio: async (options) => (await import('./twilio.ts')).startTwilioPlatform(options),
  wecom: async (options) => (await import('./wecom.ts')).startWecomPlatform(options),
};

/** Channels of `PLATFORMS` in another mode: they share type and account with it, and do not run beside it. */
export const MODES: Readonly<Record<string, (options: PlatformOptions) => Promise<Platform>>> = {
  'telegram-webhook': async (options) => (await import('./telegram.ts')).startTelegramWebhook(options),
  'slack-http': async (options) => (await import('./slack.ts')).startSlackByHttp(options),
  'feishu-webhook': async (options) => (await import('./feishu.ts')).startFeishuByWebhook(options),
  'feishu-cards': async () => (await import('./feishu.ts')).startFeishuCards(),
  'whatsapp-self': async () => (await import('./whatsapp.ts')).startWhatsAppSelf(),
  'discord-doors': async () => (await import('./discord-doors.ts')).startDiscordDoors(),
  'slack-doors': async () => (await import('./slack-doors.ts')).startSlackDoors(),
};

/**
 * Those that repeat nothing to a bot that was away and are slow to write to: neither the sweep nor the load
 * can count on them.
 */
export const FORGETFUL: Readonly<Record<string, (options: PlatformOptions) => Promise<Platform>>> = {
  irc: async () => (await import('./irc.ts')).startIrcPlatform(),
};

/** The same for a bot long away: whatever they had begun to push is forgotten, and the history has to do. */
export const OUTAGES: Readonly<Record<string, (options: PlatformOptions) => Promise<Platform>>> = {
  'discord-outage': async () => (await import('./discord-outage.ts')).startDiscordOutage(),
  'slack-outage': async () => (await import('./slack.ts')).startSlackPlatform({ outage: true }),
};
