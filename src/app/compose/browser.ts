// sandbox, packages, section `web.browser` -> browsers for the sessions, whose every connection is checked
import type { BrowserPort } from '../../core/browser.ts';
import { errorText } from '../../core/errors.ts';
import { checkDestination } from '../../egress/destination.ts';
import { ForwardProxy } from '../../egress/forward-proxy.ts';
import { Browsers } from '../../tools/browser/sessions.ts';
import { missingPackages } from '../../tools/installed.ts';
import type { Base } from './options.ts';
import { rulesOf } from './web.ts';

/** Of all that a page loads and sends between two actions. A film is more. */
const MAX_BYTES = 256 * 1024 ** 2;

/**
 * For a session. Undefined = there is no such tool: no sandbox is in force, chromium is not installed (the
 * status says so), or the package is missing (the log names the command).
 */
export function composeBrowser({ options, programs, live }: Base): (session: string) => BrowserPort | undefined {
  if (!programs.hasBrowser) return () => undefined;
  const { clock, logger, connector } = options;
  const command = missingPackages(['playwright-core']);
  if (command !== undefined) {
    logger.warn('packages.missing', { code: 'GH2013', detail: 'there is no tool `browser`', hint: command });
    return () => undefined;
  }
  const rules = () => rulesOf(live().web, 'browser');
  const browsers = new Browsers({
    ...{ spawner: programs.spawner, clock, logger },
    proxy: () => new ForwardProxy({ ...connector, clock, rules, maxBytes: MAX_BYTES }),
    judge(url) {
      const checked = checkDestination(url, rules());
      return checked.kind === 'refused' ? checked.reason : undefined;
    },
  });
  programs.closeFirst(browsers);
  opened.set(options, browsers);
  return (session) => browsers.of(session);
}

const opened = new WeakMap<Base['options'], Browsers>();

/** The session begins anew: logins and pages of it are none of what follows. Never rejects. */
export async function closeBrowser({ options }: Pick<Base, 'options'>, session: string): Promise<void> {
  try {
    await opened.get(options)?.of(session).close();
  } catch (error) {
    options.logger.warn('browser.not-closed', { session, detail: errorText(error) });
  }
}
