import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { missing } from '../../testing/needs.ts';
import { type AwsScope, signAws } from './aws.ts';

// The key pair that AWS uses in its own documentation.
const SCOPE: AwsScope = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
  service: 'iam',
};
const AT = Date.UTC(2015, 7, 30, 12, 36);

test('the example of the AWS documentation has the signature that is printed there', () => {
  // https://docs.aws.amazon.com/IAM/latest/UserGuide/signing-elements.html (GET ListUsers)
  const { authorization } = signAws(
    {
      method: 'GET',
      url: 'https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08',
      headers: new Headers({ 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }),
      body: '',
      now: AT,
    },
    SCOPE,
  );
  expect(authorization).toBe(
    'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
  );
});

const BOTOCORE = `
import json, sys
from datetime import datetime, timezone
from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
class Fixed(datetime):
    @classmethod
    def utcnow(cls): return cls(2015, 8, 30, 12, 36)
    @classmethod
    def now(cls, tz=None): return cls(2015, 8, 30, 12, 36, tzinfo=tz)
class Module:
    datetime = Fixed
auth.datetime = Fixed if isinstance(auth.datetime, type) else Module
if hasattr(auth, 'get_current_datetime'):
    auth.get_current_datetime = lambda remove_tzinfo=True: Fixed(2015, 8, 30, 12, 36)
out = []
for case in json.load(sys.stdin):
    request = AWSRequest(method=case['method'], url=case['url'], data=case['body'].encode(), headers={'content-type': 'application/json'})
    auth.SigV4Auth(Credentials(case['id'], case['secret'], case['token']), case['service'], case['region']).add_auth(request)
    out.append(request.headers['Authorization'])
print(json.dumps(out))
`;

const URLS = [
  'https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1/chat/completions',
  'https://bedrock-mantle.eu-west-1.api.aws/anthropic/v1/messages',
  'https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke',
  'https://host.example:8443/a%20b/ü/~x?b=2&a=1&a=0&c=%2F%20é',
];

test('every request is signed as botocore signs it', async (context) => {
  const python = await findPython();
  if (!python) return missing(context, 'the Debian package python3-botocore is not installed');
  const cases = URLS.flatMap((url) =>
    ['', '{"a":"é \\u0000"}'].flatMap((body) =>
      ['', 'a/session+token=='].map((token) => ({
        ...{ method: 'POST', url: new URL(url).href, body, token: token || null },
        ...{ id: SCOPE.accessKeyId, secret: SCOPE.secretAccessKey, service: 'bedrock', region: 'eu-west-1' },
      })),
    ),
  );
  const running = promisify(execFile)(python, ['-c', BOTOCORE]);
  running.child.stdin?.end(JSON.stringify(cases));
  const theirs: unknown = JSON.parse((await running).stdout);
  const ours = cases.map(({ method, url, body, token }) => {
    const scope = { ...SCOPE, service: 'bedrock', region: 'eu-west-1', ...(token ? { sessionToken: token } : {}) };
    const headers = new Headers({ 'content-type': 'application/json', 'user-agent': 'gatehouse' });
    return signAws({ method, url, headers, body, now: AT }, scope)['authorization'];
  });
  expect(ours).toHaveLength(16);
  expect(ours).toEqual(theirs);
});

async function findPython(): Promise<string | undefined> {
  for (const python of ['/usr/bin/python3', 'python3']) {
    const found = await promisify(execFile)(python, ['-c', 'import botocore']).then(
      () => true,
      () => false,
    );
    if (found) return python;
  }
  return undefined;
}
