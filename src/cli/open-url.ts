import { spawn } from 'node:child_process';

/**
 * Asks the desktop to show a page, and does not wait for it. Does nothing where there is no desktop (a
 * server, ssh). A program that is missing or fails is not an error, because the address is also printed.
 */
export function openUrl(url: string, env: Readonly<Record<string, string | undefined>>, platform = process.platform): void {
  const [command, ...args] = openerOf(platform, env);
  if (command === undefined) return;
  // No shell: the address is foreign text.
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true, env });
  child.on('error', () => undefined);
  child.unref();
}

function openerOf(platform: NodeJS.Platform, env: Readonly<Record<string, string | undefined>>): readonly string[] {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return env['DISPLAY'] || env['WAYLAND_DISPLAY'] ? ['xdg-open'] : [];
}
