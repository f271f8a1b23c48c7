import { appendNew } from '../../sessions/append-new.ts';
import { forkOf } from '../../sessions/fork.ts';
import { changeLines } from '../../sessions/redact.ts';
import { firstHeader, formatFile, newHeader } from '../../sessions/session-file.ts';
import { GatehouseError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import type { Session, SessionMessage, SessionStore } from '../core/session.ts';

/** Sessions that live as long as the process. */
export function createMemoryStore(options: { clock: Clock }): SessionStore {
  const { clock } = options;
  const sessions = new Map<string, Session>();
  const archives = new Map<string, readonly SessionMessage[]>();
  return {
    async load(key) {
      return sessions.get(key);
    },
    async append(key, lines) {
      const old = sessions.get(key) ?? { header: firstHeader(key, clock.now(), lines), messages: [] };
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
      archives.set(key, appendNew(archives.get(key) ?? [], sessions.get(key)?.messages ?? []));
      sessions.set(key, { header: merged, messages: [...messages] });
    },
    async archived(key) {
      return archives.get(key) ?? [];
    },
    async archive(key, lines) {
      archives.set(key, appendNew(archives.get(key) ?? [], lines));
    },
    async list() {
      const infos = [...new Set([...sessions.keys(), ...archives.keys()])].map((key) => {
        const session = sessions.get(key);
        const newest = (session?.messages ?? archives.get(key))?.at(-1);
        return {
          key,
          messages: session?.messages.length ?? 0,
          updatedAt: newest?.timestamp ?? session?.header.updated_at ?? '',
          bytes: session ? Buffer.byteLength(formatFile(session.header, session.messages), 'utf8') : 0,
        };
      });
      return infos.sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : 0));
    },
    async redact(key, rule) {
      const { header, messages } = sessions.get(key) ?? { header: undefined, messages: [] };
      const { lines, changed } = changeLines(messages, await rule(messages));
      if (header && changed > 0) sessions.set(key, { header, messages: lines });
      return { changed, left: messages.length - changed };
    },
    async remove(key) {
      sessions.delete(key);
      archives.delete(key);
    },
    release: () => undefined, // nothing else keeps them
  };
}
