/** `ChannelLimits.sendMs` with these settings: a file takes longer than words, and is read from disk. */
export function sendTime(settings: { readonly send_timeout_secs: number; readonly upload_timeout_secs?: number }): {
  sendMs: number;
} {
  return { sendMs: (settings.send_timeout_secs + (settings.upload_timeout_secs ?? 0)) * 1_000 };
}
