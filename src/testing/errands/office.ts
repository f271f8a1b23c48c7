import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import { pdfOf } from '../pdf.ts';
import { zipOf } from '../zip.ts';
import { BEN, call, type Errand, send, shell, write } from './errand.ts';

const INVOICE = pdfOf(['Invoice 17\nPaper 12 EUR\nInk 30 EUR', 'Total 42 EUR\nDue 2027-01-31'], 'Invoice 17');
const invoice = { name: 'invoice.pdf', mime: 'application/pdf', content: INVOICE };
const WORD = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
/** One pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** As Word writes one, without all that is optional (ECMA-376). */
function docxOf(...paragraphs: readonly string[]): Buffer {
  const body = paragraphs.map((text) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`).join('');
  const open = 'http://schemas.openxmlformats.org';
  return zipOf({
    '[Content_Types].xml': `<Types xmlns="${open}/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="${WORD}.main+xml"/></Types>`,
    '_rels/.rels': `<Relationships xmlns="${open}/package/2006/relationships"><Relationship Id="r1" Type="${open}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
    'word/document.xml': `<w:document xmlns:w="${open}/wordprocessingml/2006/main"><w:body>${body}</w:body></w:document>`,
  });
}

const template = { name: 'offer.docx', mime: WORD, content: docxOf('Offer for NAME', 'It costs SUM euro.') };

/** Documents that people send, and those they get. */
export const OFFICE: readonly Errand[] = [
  {
    title: 'a question is answered from a PDF',
    say: 'When is it due?',
    file: invoice,
    moves: [({ upload }) => call('read_document', { path: upload }), ({ told }) => `On ${/Due (\S+)/.exec(told[0] ?? '')?.[1]}`],
    check: ({ texts }) => expect(texts).toEqual(['On 2027-01-31']),
  },
  {
    title: 'one page of a PDF is read',
    say: 'What is on page 2?',
    file: invoice,
    moves: [({ upload }) => call('read_document', { path: upload, first_page: 2, last_page: 2 }), 'The total.'],
    check: ({ told }) => {
      expect(told[0]).toContain('Total 42 EUR');
      expect(told[0]).not.toContain('Paper');
    },
  },
  {
    title: 'the items of an invoice arrive as a table',
    say: 'Make a CSV of the items',
    file: invoice,
    moves: [
      ({ upload }) => call('read_document', { path: upload }),
      ({ told }) =>
        write(
          'items.csv',
          (told[0] ?? '')
            .match(/\w+ \d+ EUR/g)
            ?.map((item) => item.replace(/(\w+) (\d+) EUR/, '$1,$2\n'))
            .join('') ?? '',
        ),
      send('items.csv'),
      'Here.',
    ],
    check: async ({ files }) => expect(await readFile(files[0]?.path ?? '', 'utf8')).toBe('Paper,12\nInk,30\nTotal,42\n'),
  },
  {
    title: 'a PDF goes back under another name, whole',
    say: 'Rename it to 2027-17.pdf',
    file: invoice,
    needs: ['pdftotext'],
    moves: [({ upload }) => shell(`cp ${upload} 2027-17.pdf`), send('2027-17.pdf'), 'Renamed.'],
    check: async ({ files, run }) => {
      expect(files[0]?.name).toBe('2027-17.pdf');
      expect(await run('pdftotext', files[0]?.path ?? '', '-')).toContain('Total 42 EUR');
    },
  },
  {
    title: 'a Word document is read',
    say: 'Who is the offer for?',
    file: template,
    moves: [
      ({ upload }) => call('read_document', { path: upload }),
      ({ told }) => `For ${/Offer for (\w+)/.exec(told[0] ?? '')?.[1]}`,
    ],
    check: ({ texts }) => expect(texts).toEqual(['For NAME']),
  },
  {
    title: 'a Word document is filled in',
    say: 'Fill it in for Ada: 40 euro',
    file: template,
    needs: ['soffice'],
    moves: [
      ({ upload }) => call('read_document', { path: upload }),
      ({ told }) => {
        const text = told[0]?.split('\n').slice(2).join('\n') ?? '';
        return write('offer.md', text.replace('NAME', 'Ada').replace('SUM', '40'));
      },
      call('convert_markdown_to_docx', { source_path: 'offer.md' }),
      send('offer.docx'),
      'Filled in.',
    ],
    check: async (outcome) => {
      const words = await outcome.words();
      expect(words).toContain('Offer for Ada');
      expect(words).toContain('It costs 40 euro.');
    },
  },
  {
    title: 'a report with a table of numbers arrives as a Word document',
    say: 'A report of the sales as Word, please',
    file: { name: 'sales.csv', mime: 'text/csv', content: 'month,euro\nJan,100\nFeb,250\n' },
    needs: ['soffice'],
    moves: [
      ({ upload }) =>
        shell(`{ echo '# Sales'; echo; sed 's/,/ | /; s/^/| /; s/$/ |/' ${upload} | sed '1a |---|---:|'; } > report.md`),
      call('convert_markdown_to_docx', { source_path: 'report.md', target_path: 'Sales report.docx' }),
      send('Sales report.docx', 'The report'),
      'Here is the report.',
    ],
    check: async (outcome) => {
      const words = await outcome.words();
      for (const part of ['Sales', 'Jan', '250']) expect(words).toContain(part);
    },
  },
  {
    title: 'a letter with the picture that came',
    say: 'Put my logo over a letter',
    file: { name: 'logo.png', mime: 'image/png', content: Buffer.from(PIXEL, 'base64') },
    needs: ['soffice'],
    moves: [
      ({ upload }) => write('letter.md', `![logo](<${upload}>)\n\nDear Ada,\n\nyours\n`),
      call('convert_markdown_to_docx', { source_path: 'letter.md' }),
      send('letter.docx'),
      'There you are.',
    ],
    check: async (outcome) => {
      expect(outcome.told[1]).toMatch(/^Wrote \d+ bytes to letter\.docx$/);
      expect(await readFile(outcome.files[0]?.path ?? '', 'latin1')).toContain('word/media/');
      expect(await outcome.words()).toContain('Dear Ada,');
    },
  },
  {
    title: 'minutes of a meeting arrive with lists and quotes',
    say: 'Write up the meeting',
    needs: ['soffice'],
    moves: [
      write('minutes.md', '# Meeting\n\n1. Budget\n   - raised\n2. Dates\n\n> We meet again in May.\n\n```\nroom 5\n```\n'),
      call('convert_markdown_to_docx', { source_path: 'minutes.md' }),
      send('minutes.docx'),
      'Written.',
    ],
    check: async (outcome) => {
      const words = await outcome.words();
      for (const part of ['1. Budget', 'raised', '2. Dates', 'We meet again in May.', 'room 5']) expect(words).toContain(part);
    },
  },
  {
    title: 'a file that is no document is refused with what helps',
    say: 'Read it',
    file: {
      name: 'old.doc',
      mime: 'application/msword',
      content: Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(600)]),
    },
    moves: [({ upload }) => call('read_document', { path: upload }), 'Can you send it as a PDF?'],
    check: ({ told }) => expect(told[0]).toContain('ask for a PDF'),
  },
  {
    title: 'a friend is told, once the person has said yes',
    say: 'Tell Ben that I am late',
    asks: true,
    moves: [call('message', { content: 'I am *late*, sorry.', chat_id: String(BEN) }), 'Ben knows.'],
    check: ({ texts, toBen, told }) => {
      expect(texts[0]).toContain(`To Ben (telegram, ${BEN}), below the line:`);
      expect(told).toEqual([`On its way to Ben (telegram, ${BEN}).`]);
      expect(toBen).toEqual(['hello', expect.stringMatching(/^On behalf of Ada \(telegram:\d+\):\n\nI am late, sorry\.$/)]);
    },
  },
  {
    title: 'an offer leaves by mail with its file, once the person has said yes',
    say: 'Mail Carol the offer',
    asks: true,
    moves: [
      write('offer.txt', 'It costs 40 euro.\n'),
      call('send_email', {
        to: ['carol@example.org'],
        subject: 'Offer',
        body: 'Dear Carol, see the **offer**.',
        attachments: ['offer.txt'],
      }),
      'Sent.',
    ],
    check: ({ texts, mails }) => {
      expect(texts[0]).toContain('With offer.txt, 18 bytes, SHA-256 ');
      const mail = mails.filter(({ to }) => to === 'carol@example.org').map(({ raw }) => raw);
      expect(mail).toHaveLength(1);
      expect(mail[0]).toContain('Subject: Offer');
      expect(mail[0]).toContain(Buffer.from('It costs 40 euro.\n').toString('base64'));
    },
  },
  {
    title: 'a long piece of work is told of while it goes on',
    say: 'Write three letters',
    moves: [write('1.md', 'one'), call('message', { content: 'The first of three is written.' }), 'All are written.'],
    check: ({ texts }) => expect(texts).toEqual(['The first of three is written.', 'All are written.']),
  },
];
