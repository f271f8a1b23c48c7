import { GatehouseError } from '../src/core/errors.ts';
import type { Clock } from '../src/core/ports.ts';
import type { Session, SessionStore } from '../src/core/session.ts';
import { appendNew } from './append-new.ts';
import { forkOf } from './fork.ts';
import { formatFile, newHeader } from './session-file.ts';

/** Sessions that live as long as the process: for tests and for runs that shall leave nothing behind. Nothing is archived. */
export function createMemoryStore(options: { clock: Clock }): SessionStore {
  const { clock } = options;
  const sessions = new Map<string, Session>();
  return {
    async load(key) {
      return sessions.get(key);
    },
    async append(key, lines) {
      const old = sessions.get(key) ?? { header: newHeader(key, clock.now()), messages: [] };
      sessions.set(key, { header: old.header, messages: appendNew(old.messages, lines) });
    },
    async fork(source, target, keep) {
      const from = sessions.get(source);
      if (!from) throw new GatehouseError('GH1003', `there is no session ${source} to fork`);
      const session = forkOf(from, target, keep, clock.now());
      sessions.set(target, session);
      return session;
    },
    async rewrite(key, messages, header = {}) {
      const now = clock.now();
      const updated_at = new Date(now).toISOString();
      const merged = newHeader(key, now, { ...sessions.get(key)?.header, updated_at, ...header });
      sessions.set(key, { header: merged, messages: [...messages] });
    },
    async list() {
      const infos = [...sessions].map(([key, { header, messages }]) => ({
        key,
        messages: messages.length,
        updatedAt: messages.at(-1)?.timestamp ?? header.updated_at,
        bytes: Buffer.byteLength(formatFile(header, messages), 'utf8'),
      }));
      return infos.sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : 0));
    },
    async remove(key) {
      sessions.delete(key);
    },
  };
}
