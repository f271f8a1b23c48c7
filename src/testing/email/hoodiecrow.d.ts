/** What is used of `hoodiecrow-imap`, which has no types of its own. */
declare module 'hoodiecrow-imap' {
  import type { Server } from 'node:net';

  interface HoodiecrowMessage {
    readonly uid: number;
    readonly flags: readonly string[];
    readonly raw: string;
    readonly internaldate: string;
  }

  interface HoodiecrowMailbox {
    uidvalidity: number;
    uidnext: number;
    messages: HoodiecrowMessage[];
  }

  interface Hoodiecrow {
    readonly server: Server;
    listen(port: number, host: string, listening: () => void): void;
    close(closed: () => void): void;
    getMailbox(path: string): HoodiecrowMailbox;
    /** `raw`: one character a byte. `date`: false or absent = now. */
    appendMessage(path: string, flags: readonly string[], date: Date | undefined, raw: string): { message: HoodiecrowMessage };
  }

  export default function hoodiecrow(options: {
    /** None: IMAP4rev1 and nothing else. */
    readonly plugins: readonly string[];
    readonly users: Readonly<Record<string, { readonly password: string }>>;
    readonly storage: Readonly<Record<string, unknown>>;
  }): Hoodiecrow;
}
