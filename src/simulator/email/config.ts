/** Configuration of the private mail servers: dovecot 2.3 and postfix 3.7 as Debian ships them. */

export type MailPorts = Readonly<Record<'imap' | 'imaps' | 'lmtp' | 'sasl' | 'smtp' | 'smtps', number>>;

/** Logins by access token, beside those by password. */
export interface TokenLogins {
  /** Where dovecot asks about a token (RFC 7662). */
  readonly introspectionUrl: string;
  /** SASL mechanisms, as dovecot names them. Microsoft 365 has `xoauth2` alone. */
  readonly mechanisms: string;
}

/** https://doc.dovecot.org/2.3/configuration_manual/authentication/oauth2/ */
export function oauth2Conf({ introspectionUrl }: TokenLogins): string {
  return `
introspection_mode = post
introspection_url = ${introspectionUrl}
username_attribute = username
active_attribute = active
active_value = true
`;
}

function tokenPassdb(root: string, { mechanisms }: TokenLogins): string {
  return `
auth_mechanisms = plain ${mechanisms}
passdb {
  driver = oauth2
  mechanisms = ${mechanisms}
  args = ${root}/oauth2.conf
}
`;
}

export function dovecotConf(root: string, ports: MailPorts, tokens?: TokenLogins): string {
  return `
protocols = imap lmtp
listen = 127.0.0.1
base_dir = ${root}/run
state_dir = ${root}/state
log_path = ${root}/dovecot.log
ssl = yes
ssl_cert = <${root}/cert.pem
ssl_key = <${root}/key.pem
disable_plaintext_auth = no
auth_failure_delay = 0
auth_username_format = %Lu
mail_location = maildir:${root}/mail/%n
mail_max_userip_connections = 100
first_valid_uid = 1
${tokens ? tokenPassdb(root, tokens) : ''}
passdb {
  driver = passwd-file
  args = ${root}/users
}
userdb {
  driver = static
  args = uid=nobody gid=nogroup home=${root}/mail/%n
}
namespace inbox {
  inbox = yes
  separator = /
  mailbox Sent {
    auto = create
    special_use = \\Sent
  }
}
service imap-login {
  service_count = 0
  inet_listener imap {
    port = ${ports.imap}
  }
  inet_listener imaps {
    port = ${ports.imaps}
    ssl = yes
  }
}
service lmtp {
  inet_listener lmtp {
    port = ${ports.lmtp}
  }
}
service auth {
  inet_listener sasl {
    port = ${ports.sasl}
  }
}
service anvil {
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
service stats {
  client_limit = 1000
}
`;
}

/** Postfix answers 450 to a mail for this address. */
export const BUSY_RECIPIENT = 'busy@example.test';

export const RECIPIENTS = `${BUSY_RECIPIENT} 450 4.7.1 too many messages, try again later\n`;

export function mainCf(root: string, ports: MailPorts): string {
  return `
compatibility_level = 3.6
queue_directory = ${root}/spool
data_directory = ${root}/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
myhostname = mx.example.test
mydestination =
mynetworks =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
virtual_mailbox_domains = example.test
virtual_mailbox_maps = texthash:${root}/postfix/mailboxes
virtual_transport = lmtp:inet:127.0.0.1:${ports.lmtp}
default_transport = error:no relay in tests
header_checks = regexp:${root}/postfix/header_checks
smtpd_sasl_auth_enable = yes
smtpd_sasl_type = dovecot
smtpd_sasl_path = inet:127.0.0.1:${ports.sasl}
smtpd_sasl_tls_security_options = noanonymous
smtpd_recipient_restrictions = check_recipient_access texthash:${root}/postfix/recipients, permit_sasl_authenticated, reject_unauth_destination
smtpd_tls_cert_file = ${root}/cert.pem
smtpd_tls_key_file = ${root}/key.pem
smtpd_tls_security_level = may
smtpd_peername_lookup = no
smtpd_client_connection_count_limit = 0
message_size_limit = 104857600
mailbox_size_limit = 0
virtual_mailbox_limit = 0
in_flow_delay = 0
# What dovecot could not take while it was restarted is offered again after a second instead of five minutes.
queue_run_delay = 1s
minimal_backoff_time = 1s
maximal_backoff_time = 1s
maillog_file = ${root}/postfix.log
maillog_file_prefixes = ${root}
`;
}

/** A server that adds its results removes those from outside that claim its name (RFC 8601 section 5). */
export const HEADER_CHECKS = '/^Authentication-Results:[[:space:]]*mx\\.example\\.test/ IGNORE\n';

export function masterCf(ports: MailPorts): string {
  const services = [
    `127.0.0.1:${ports.smtp} inet n - n - - smtpd`,
    `127.0.0.1:${ports.smtps} inet n - n - - smtpd -o smtpd_tls_wrappermode=yes`,
    'pickup unix n - n 60 1 pickup',
    'cleanup unix n - n - 0 cleanup',
    'qmgr unix n - n 300 1 qmgr',
    'tlsmgr unix - - n 1000? 1 tlsmgr',
    'rewrite unix - - n - - trivial-rewrite',
    'bounce unix - - n - 0 bounce',
    'defer unix - - n - 0 bounce',
    'trace unix - - n - 0 bounce',
    'verify unix - - n - 1 verify',
    'flush unix n - n 1000? 0 flush',
    'proxymap unix - - n - - proxymap',
    'smtp unix - - n - - smtp',
    'error unix - - n - - error',
    'retry unix - - n - - error',
    'discard unix - - n - - discard',
    'lmtp unix - - n - - lmtp',
    'anvil unix - - n - 1 anvil',
    'scache unix - - n - 1 scache',
    'postlog unix-dgram n - n - 1 postlogd',
  ];
  return `${services.join('\n')}\n`;
}
