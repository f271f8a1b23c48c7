/** What every implementation of the `Journal` port must do. Run by `journal.test.ts`. */
import { describe } from 'vitest';
import type { CreateJournal as Create } from '../testing/journal-harness.ts';
import { ledgerContract } from '../testing/ledger-contract.ts';
import { acceptContract } from './accept-contract.ts';
import { amendContract } from './amend-contract.ts';
import { deadLetterContract } from './dead-letter-contract.ts';
import { endedContract } from './ended-contract.ts';
import { outboxContract } from './outbox-contract.ts';
import { leftContract, recoverContract, stoppedContract } from './recovery-contract.ts';
import { turnContract } from './turn-contract.ts';

export function journalContract(name: string, create: Create): void {
  describe(name, () => {
    acceptContract(create);
    amendContract(create);
    turnContract(create);
    ledgerContract(create);
    outboxContract(create);
    recoverContract(create);
    stoppedContract(create);
    leftContract(create);
    endedContract(create);
    deadLetterContract(create);
  });
}
