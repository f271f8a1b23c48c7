/**
 * What mail programs write above a quotation or a forwarded mail, in the languages they speak. Data and
 * look-ups, no regular expression that could be slow: each look-up takes a line of bounded length.
 *
 * Collected from the header blocks, attributions and rules in `fixtures/`, and for Norwegian, Finnish,
 * Czech, Slovak, Hungarian, Romanian, Ukrainian and Greek from general knowledge of these programs
 * (unverified).
 */

export type HeaderRole = 'from' | 'to' | 'date' | 'subject' | 'other';

const ROLES: Readonly<Record<HeaderRole, string>> = {
  from: `from|von|de|da|van|od|fra|från|lähettäjä|feladó|de la|expéditeur|expediteur|remitente|mittente|afzender|kimden|gönderen
    |от|от кого|від|από|差出人|送信元|送信者|보낸 사람|보낸사람|보낸이|보낸 이|发件人|發件人|寄件人|寄件者`,
  to: `to|an|à|a|para|aan|do|til|till|vastaanottaja|komu|címzett|către|destinataire|destinatario|kime|alıcı|кому|προς|宛先|받는 사람
    |받는사람|받은 사람|받는이|收件人|收件者`,
  date: `date|sent|sent at|sent on|datum|gesendet|gesendet am|envoyé|envoyé le|fecha|enviado|enviado el|enviada|enviada em|enviadas|data
    |inviato|inviato il|verzonden|verzonden op|wysłane|wysłano|sendt|dato|skickat|lähetetty|päivämäärä|päiväys|odesláno|odoslané
    |dátum|elküldve|küldve|trimis|trimis la|gönderildi|gönderme tarihi|gönderim|tarih|отправлено|отправлен|дата|надіслано|ημερομηνία
    |στάλθηκε|送信日時|送信日|日付|日時|보낸 날짜|보낸날짜|날짜|发送时间|发送日期|日期|时间|寄件日期|傳送日期|發送時間|時間`,
  subject: `subject|betreff|objet|asunto|oggetto|onderwerp|assunto|temat|emne|ämne|aihe|předmět|predmet|tárgy|subiect|konu|тема|θέμα
    |件名|제목|主题|主題|主旨`,
  other: `cc|bcc|kopie|kopie (cc)|copie|copie à|cc (copie)|copia|dw|kopi|kopia|kopio|másolat|bilgi|копия|копія|κοιν.|참조|抄送|副本
    |reply-to|reply to|antwort an|répondre à|responder a|rispondi a|priorität|priority|importance|importancia|wichtigkeit|priorité
    |prioridad|prioriteit|prioridade|priorità|attachments|anlagen|resent-from`,
};

const ROLE_OF: ReadonlyMap<string, HeaderRole> = new Map(
  (Object.entries(ROLES) as [HeaderRole, string][]).flatMap(([role, words]) => listed(words).map((word) => [word, role])),
);

/** In the sentence above a quotation: "… wrote:". Looked for anywhere in it. */
const WROTE =
  listed(`wrote|writes|schrieb|écrit|ecrit|escribió|escribio|escribía|scritto|scrive|schreef|geschreven|escreveu|napisał
  |napisala|pisze|napisana|skrev|skriver|kirjoitti|napsal|napísal|írta|a scris|yazdı|написал|писал|пишет|написав|пише|έγραψε|写道|寫道
  |書きました|書いた|のメール|작성|쓴 글|님이 쓴|의 메시지`);

const ORIGINAL = new Set(
  listed(`original message|original mail|original email|original|ursprüngliche nachricht|ursprüngliche mail|original-nachricht
    |originalnachricht|original-mail|message d'origine|message original|mail original|courriel original|mensaje original|correo original
    |messaggio originale|messaggio originario|oorspronkelijk bericht|oorspronkelijke bericht|origineel bericht|mensagem original
    |wiadomość oryginalna|oryginalna wiadomość|oprindelig meddelelse|oprindelig besked|oprindelig mail|opprinnelig melding
    |ursprungligt meddelande|originalmeddelande|alkuperäinen viesti|původní zpráva|pôvodná správa|eredeti üzenet|mesaj original
    |mesajul original|özgün ileti|orijinal mesaj|orijinal ileti|исходное сообщение|оригинальное сообщение|вихідне повідомлення
    |αρχικό μήνυμα|元のメッセージ|元のメール|원본 메시지|원본 메일|원본 이메일|원본메일|原始邮件|原始郵件|原邮件|原郵件|回复的原邮件|原始信件`),
);

/** Looked for anywhere in a line that is ruled with dashes, or ends with a colon. */
const FORWARDED = listed(`forwarded message|forwarded by|forwarded mail|weitergeleitete nachricht|weitergeleiteten nachricht
  |weitergeleitete mail|message transféré|message transmis|message réexpédié|mensaje reenviado|mensaje enviado de nuevo|messaggio inoltrato
  |messaggio girato|doorgestuurd bericht|doorgestuurde bericht|mensagem encaminhada|mensagem reencaminhada|przekazana wiadomość
  |wiadomość przekazana|przesłana wiadomość|przekazywana wiadomość|przekazanej wiadomości|videresendt meddelelse|videresendt besked
  |videresendt mail|videresendt melding|videresendte melding|vidarebefordrat meddelande|vidarebefordrat brev|vidarebefordrat mail|välitetty viesti
  |přeposlaná zpráva|preposlaná správa|továbbított üzenet|mesaj redirecționat|iletilen mesaj|iletilen ileti|yönlendirilen ileti
  |yönlendirilmiş ileti|yönlendirilen mesaj|пересылаемое сообщение|пересланное сообщение|пересланное письмо|переадресованное сообщение
  |переадресованного сообщения|переслане повідомлення|転送メッセージ|転送されたメッセージ|転送されたメール|전달된 메시지|전달된 메일|전달된 이메일
  |转发的邮件|转发邮件|转发的消息|转发信息|转发的邮件信息|轉寄的郵件|轉寄郵件|轉寄的訊息|轉寄訊息|已轉寄的郵件`);

const FORWARD_PREFIX = new Set(listed(`fw|fwd|wg|tr|rv|vs|vb|i|enc|doorst|pd|vl|ilt|пер|пересл|转发|轉寄|转寄|轉發|転送|전달`));

/** What the field name of a header block means; undefined for other words. */
export function headerRole(label: string): HeaderRole | undefined {
  return ROLE_OF.get(plain(label)) ?? ROLE_OF.get(plain(label).replaceAll(' ', ''));
}

export function hasWroteWord(text: string): boolean {
  const words = plain(text);
  return WROTE.some((word) => words.includes(word));
}

/** `-----Original Message-----`; with dashes on both sides. */
export function isOriginalMark(line: string): boolean {
  const [before, words, after] = unruled(line);
  return before >= 2 && after >= 2 && ORIGINAL.has(plain(words));
}

/**
 * The line above a mail that is passed on whole: `---------- Forwarded message ---------`, `Begin forwarded
 * message:`.
 */
export function isForwardMark(line: string): boolean {
  if (line.length > 120) return false;
  const [before, words, after] = unruled(line);
  if ((before < 2 || after < 2) && !/[:：]$/.test(words)) return false;
  const text = plain(words);
  // A sentence that mentions one is longer than the mark itself.
  return FORWARDED.some((mark) => text.includes(mark) && text.length <= mark.length + 24);
}

/** `Fwd: …`, `[EXTERNAL] WG: …`. The first prefix decides: `Re: Fwd: …` is a reply. */
export function isForwardSubject(subject: string): boolean {
  const text = withoutTags(subject);
  const colon = text.search(/[:：]/);
  return colon > 0 && colon < 12 && FORWARD_PREFIX.has(plain(text.slice(0, colon)));
}

/** A subject without tags in brackets and the prefixes of replies and forwards, for comparing. */
export function bareSubject(subject: string): string {
  let text = withoutTags(plain(subject));
  for (let round = 0; round < 10; round += 1) {
    const prefix = /^\p{L}{1,8}(?:\[\d{1,3}\]|\(\d{1,3}\))? ?[:：] ?/u.exec(text)?.[0];
    if (prefix === undefined) return text;
    text = withoutTags(text.slice(prefix.length));
  }
  return text;
}

function withoutTags(subject: string): string {
  let text = subject.trim();
  while (text.startsWith('[') && text.includes(']')) text = text.slice(text.indexOf(']') + 1).trimStart();
  return text;
}

/** How many dashes stand before the words and after them. */
function unruled(line: string): [before: number, words: string, after: number] {
  if (line.length > 300) return [0, '', 0];
  const text = line.trim();
  const before = /^[-*_=–—]*/.exec(text)?.[0].length ?? 0;
  const rest = text.slice(before);
  const words = rest.replace(/(?<![-*_=–—])[-*_=–—]+$/, '');
  return [before, words.trim(), rest.length - words.length];
}

/** Lower case, one kind of apostrophe and of blank. `İ` becomes `i`, not `i` with a dot above it. */
function plain(text: string): string {
  return text
    .toLowerCase()
    .replace(/[\s\u00a0\u202f\u3000]+/g, ' ')
    .replace(/i\u0307/g, 'i')
    .replace(/[’ʼ]/g, "'")
    .trim();
}

function listed(words: string): readonly string[] {
  return words.split('|').map((word) => word.trim());
}
