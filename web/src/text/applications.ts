// The texts of the screens about applications.
import { many } from './en.ts'

const numbers = new Intl.NumberFormat('en-GB')

export const apps = {
  title: 'Applications',
  lead: 'What the organization’s people use. Each keeps its own rows; the service asks it, and decides nothing there.',
  find: 'Find an application', state: 'State', anyState: 'Any state', name: 'Name', id: 'Id', namespaces: 'Namespaces', health: 'Health', asked: 'Asked', never: 'never',
  none: 'No application is registered yet', noneHint: 'Register one, then link it to where it runs.', notYours: 'No application is yours to see', register: 'Register an application',
  states: { registered: 'not linked', linked: 'linked', federated: 'member' } as Record<string, string>,
  healths: { healthy: 'healthy', unverified: 'not asked yet', unreachable: 'unreachable', unauthorized: 'refuses the secret', mismatch: 'another application', protocol: 'unreadable' } as Record<string, string>,

  tabs: { overview: 'Overview', access: 'Access', catalog: 'Catalog', usage: 'Usage', mesh: 'Mesh', organization: 'Organization' },

  registering: {
    title: 'Register an application', lead: 'It claims its namespaces. Nothing is asked of it until it is linked.',
    idHint: 'Small letters, digits, hyphens and underscores. The application’s own id: what it calls itself when it is asked.', namespacesHint: 'With commas between, such as docs, wiki. The first is the primary one: its versions are those of the catalog.',
    review: 'Review', reviewTitle: 'This will be registered', registers: 'the application', claims: 'claims the namespace', submit: 'Register', done: (name: string) => `${name} is registered.`, made: 'It is registered', next: 'Link it to where it runs, so that it can be asked.', link: 'Link it…', show: 'Show it',
  },

  // Why health is as it is, and what to do about it; the host's word says which of several causes.
  cause: {
    healthy: 'It answers, and it is the application that it should be.',
    unverified: 'Nobody has asked it since it was linked.',
    'no connection': 'No connection: its name is not found, nothing listens there, or its certificate is not valid.',
    'no answer': 'It was reached, and did not answer in time.',
    unavailable: 'It failed several times and is left alone for a while, or it says itself that it cannot answer now.',
    'credential rejected': 'It refuses the secret of this link.',
    application: 'Another application answers at this address. Nothing is sent to it.',
    version: 'It speaks another version of the provider API.',
    'malformed answer': 'What answers there is not the provider API: a wrong path, a redirect, or a page of something else.',
    error: 'Its answer is an error that says nothing more.',
  } as Record<string, string>,
  next: {
    healthy: '',
    unverified: 'Ask it now.',
    'no connection': 'See that it runs and that this host can reach its address. If it has moved, link it again with the new address.',
    'no answer': 'Look at its load and its database, then ask again.',
    unavailable: 'Look at the application’s log, then ask again: a probe does not wait.',
    'credential rejected': 'Put the secret of the last link into its provider.secrets and restart it. If the secret is lost, link it again.',
    application: 'Link this entry to its own application, or correct the id that the application calls itself.',
    version: 'Upgrade the older of the two.',
    'malformed answer': 'Check the path of the address: it ends with /apps/ and the application’s id, where a host serves it.',
    error: 'Look at the application’s log.',
  } as Record<string, string>,
  linkFirst: 'It is registered, and not linked: nothing can be asked of it.',
  linkFirstNext: 'Link it to the address where it runs.',

  overview: {
    health: 'Health', probe: 'Ask it now', probed: (what: string) => `It was asked: ${what}.`, checked: 'Last asked', latency: 'Answered in', ms: (n: number) => (n < 1 ? 'under 1 ms' : `${numbers.format(n)} ms`), calls: 'Calls itself', version: 'API version', root: 'Keeps an organization', log: 'Keeps an event log', stream: 'Lets its audit log be copied',
    noLog: 'no: a move cannot notice what is written meanwhile', entry: 'Entry', state: 'State', address: 'Address', local: 'an application of this host', hint: 'Secret', linkedAt: 'Linked', federatedAt: 'Member since', lastSync: 'Last synchronized', registered: 'Registered', by: 'by',
    version_: (n: number) => `version ${numbers.format(n)}`, unpublished: 'nothing published', namespaces: 'Namespaces', primary: 'primary',
    moving: 'Its organization is being moved', movingHint: 'Step and start. It goes on by itself, on any host; writes to the organization wait.', step: 'Step', kinds: { federate: 'to the service', demote: 'back to the application' } as Record<string, string>, kind: 'Direction', started: 'Started', trouble: 'Why it does not go on',
    link: 'Link…', relink: 'Link again…', unlink: 'Unlink…', remove: 'Delete…', member: 'It is a member: its organization lives at the service. Give the organization back first.', notLinked: 'It is not linked.', busy: 'Its organization is being moved. Wait until that is over.',
    audit: 'Audit log', read: 'Read it', retained: 'A copy is kept here', notRetained: 'No copy is kept here', retainedHint: 'Events are copied every five minutes, and stay when the application loses them.', notRetainedHint: 'With a copy, events can be read and exported even when the application is gone.', refuses: 'The application does not let its log be copied: switch provider.audit_opt_in on there.',
    keep: 'Keep a copy…', stop: 'Keep no more…', ingest: 'Copy now', ingested: (n: number, more: boolean) => `${many(n, 'event is', 'events are')} copied${more ? ', and there are more' : ''}.`, mismatch: 'The log does not fit what was copied of it before. Verify its chain.', paused: 'Copying is paused: the cap of retained events is reached.',
    sync: 'Members', syncHint: 'The service pushes what changes within seconds. Push now to be sure.', syncAll: 'Push to all members', syncOne: 'Push to this one', applied: (ms: number) => `has everything, after ${numbers.format(Math.max(1, ms))} ms`, notApplied: 'did not take it',
  },

  linking: {
    title: (name: string) => `Link ${name}`, again: (name: string) => `Link ${name} again`, address: 'Address', hint: 'Where its provider API answers, such as https://docs.example/apps/docs. An application of this same host is local: and its id.',
    wrong: 'An address begins with https://, with http://localhost for development, or with local:.', same: 'The old secret ends at once; put the new one into the application.', review: 'Review', submit: 'Link', done: 'It is linked.',
    links: 'is asked at', makes: 'a new secret, shown once', ends: 'the secret', without: 'no secret: it is an application of this host',
    secretTitle: 'The provider secret', secretHint: 'Put it into the application’s provider.secrets and restart it. Link again when it is lost.', kept: 'I have put it away',
    withheld: 'The link was made by an earlier try, and its secret is told once only. Link again for a new one.',
  },
  unlinking: { title: (name: string) => `Unlink ${name}?`, forgets: 'where it is, and its secret', stops: 'nothing of it can be read or written here until it is linked again', root: 'it keeps this organization: people, groups, roles and global access are not shown meanwhile', submit: 'Unlink', done: 'It is unlinked.' },
  deleting: { title: (name: string) => `Delete the entry ${name}?`, entry: 'the entry', link: 'its link', claims: 'its claim of', keys: 'publisher keys of its namespaces', rows: 'rights of this service that were given for it alone', stays: 'what the application keeps, published catalogs and retained events', submit: 'Delete', done: 'The entry is deleted.' },
  opting: { on: 'Keep a copy of its audit log?', off: 'Keep no more copies?', copies: 'its audit events, from the first one on, copied every five minutes', ends: 'copying; what is kept stays, and can be read', onNow: 'Keep a copy', offNow: 'Keep no more', done: 'It is done.' },

  review: { unknown: 'Nobody knows whether it was done. Look at the entry before you repeat it.', moved: 'Somebody has changed the entry meanwhile.', yours: 'As you saw it', theirs: 'As it is now', again: 'Go on from there', stays: 'stays' },

  access: {
    list: 'Which rows', grants: 'Grants', revokes: 'Revokes', requests: 'Requests', change: 'Give and take away', changeRevokes: 'To the revokes',
    subject: 'Subject', role: 'Role id', user: 'Person', scope: 'Scope, as type:id', anyState: 'Any state', noneGrants: 'Nothing is granted at its scopes', noneRevokes: 'Nothing is revoked at its scopes', noneRequests: 'Nobody has asked for anything at its scopes',
    who: 'Who asks', what: 'For', since: 'Since', states: 'State', notLinked: 'It is not linked: its rows cannot be read.',
  },

  catalog: {
    title: 'What the application declares', none: 'It has published no catalog of its own', noneHint: 'Run authz catalog publish at the application, or let its host do it at the start.', version: 'Its version', here: 'In the registry', nothing: 'nothing yet', keys: (n: number) => many(n, 'key', 'keys'),
    same: 'The registry has the same.', differs: (n: number) => `The registry differs in ${many(n, 'key', 'keys')}.`, newHere: 'Nothing of it is in the registry yet.', review: 'Publish…', publishTitle: 'This will be published', into: 'a new version of', adds: 'is added', drops: 'is taken out: rows that name it give nothing', changes: 'changes', first: (n: number) => `The first ${numbers.format(n)} are shown.`, submit: 'Publish', unchanged: 'The registry has it already.',
    done: (n: number) => `Version ${numbers.format(n)} is published.`, conflict: (now: number) => `Version ${numbers.format(now)} was published meanwhile. Compare again.`, compare: 'Compare again', others: 'Other declarations differ, such as scope types.',
    about: { description: 'the description', scopes: 'where it counts', destructive: 'whether it is destructive', requiresCondition: 'whether it has a condition', impliedOnAncestors: 'whether it is implied above', kind: 'its kind' } as Record<string, string>,
    imports: 'What it imports', noImports: 'It imports nothing.', find: 'Find a key', destructive: 'destructive', condition: 'with a condition', everywhereOnly: 'everywhere alone', at: 'at', drift: 'Rows that name missing keys', driftHint: 'Roles, grants and imports of this application that name keys which the registry does not have.', noDrift: 'None.', hidden: 'No key matches', tombstoned: 'taken out', unpublished: 'never published',
  },

  usage: {
    what: 'Of what', dimensions: { grants: 'Grants', revokes: 'Revokes', roles: 'Roles', permissions: 'Keys', 'scope-types': 'Scope types' } as Record<string, string>, since: 'Since', spans: { day: 'a day', week: 'a week', month: '30 days', all: 'all that is kept' } as Record<string, string>,
    row: 'Id', matched: 'Decided', sole: 'Alone', soleHint: 'Decided alone counts the checks that nothing else would have decided so.', key: 'Key', type: 'Scope type', allowed: 'Allowed', denied: 'Denied', shown: 'Shown', hiddenCount: 'Hidden', over: 'Over time',
    none: 'Nothing was counted in this time', off: 'The application counts nothing', offHint: 'Switch metrics on in its configuration to see which rows are used.', trend: (n: number, from: string) => `${many(n, 'check', 'checks')} since ${from}`, hint: 'Gates are allowed or denied; lists show or hide. Unused rows are absent.', filter: 'Find by id',
  },

  mesh: {
    none: 'It is in no mesh', noneHint: 'Applications that share a database can share people, roles and vocabulary.', noRegistry: 'The mesh has no registry yet', partition: 'Its partition', version: 'Version', updated: 'Changed', by: 'by', members: 'Members', self: 'this application', edges: 'Who reaches whom', noEdges: 'Nobody reaches a neighbour.', modes: { read: 'reads', write: 'writes' } as Record<string, string>, org: 'Keeps the organization', own: 'Each member its own', promoting: 'The organization is being moved',
  },

  federation: {
    here: 'Its organization lives here, at the service', hereHint: 'People, groups, roles and global access are administered here. The application holds a copy, which its checks use.', there: 'It keeps its organization itself', thereHint: 'Its people, groups, roles and global access can move to the service. Rows at its scopes, its audit log and its catalog stay. Checks notice nothing.',
    notRoot: 'It is no root of an organization: it takes people and roles from elsewhere, and has nothing to move.', unlinked: 'Link it first.',
    look: 'See what would move', lookBack: 'See what would go back', dry: 'A dry run: nothing is changed.', again: 'Look again', brings: 'What it brings', takes: 'What it gets back',
    counts: { groups: 'groups', roles: 'roles', globalGrants: 'global grants', globalRevokes: 'global revokes', users: 'people', pendingRequests: 'pending requests' } as Record<string, string>,
    warnings: (n: number) => many(n, 'warning', 'warnings'), virtual: 'Groups that reached each other become members of a new one', conflicts: (n: number) => many(n, 'conflict is to be settled', 'conflicts are to be settled'), settled: 'Nothing is left to settle.', noConflicts: 'There are no conflicts.',
    kinds: { role_id_collision: 'Two different roles have one id', group_id_collision: 'Two different groups have one id', reporting_edge: 'Two managers for one person', reporting_cycle: 'People who manage each other', widens: 'A row would reach further than it did' } as Record<string, string>,
    current: 'In the organization', incoming: 'Of this application', named: 'only named by rows', facts: { id: 'Id', name: 'Name', description: 'Description', patterns: 'Patterns', requestable: 'How it is asked for', parents: 'In the groups', groupsBelow: 'Groups below', members: 'People in it', onlyHere: 'Only here', subject: 'Subject', pattern: 'Pattern', roleId: 'Role', scope: 'Scope', expiresAt: 'Expires', requesterUserId: 'Who asks', state: 'State', stages: 'Stages', stageIndex: 'Stage', justification: 'Answers' } as Record<string, string>, beyond: 'Reaches beyond', path: 'Circle', leaves: 'Narrowed to', nothingLeft: 'nothing', decide: 'How to settle it', noAction: 'It cannot be settled here: change the rows first.',
    actions: { rename_incoming: 'Give the one of this application another id', rename_current: 'Give the one of the organization another id', unite: 'They are the same: unite them', choose: 'Choose', narrow: 'Narrow it to what it meant', accept: 'Accept that it means the organization' } as Record<string, string>,
    newId: 'New id', manager: 'Manager', noManager: 'nobody', edge: 'Whose manager is taken away', blocked: (current: boolean, where: string, n: number, what: string) => `The one ${current ? 'in the organization' : 'of this application'} keeps its id: ${many(n, what, what + 's')} of ${where} ${n === 1 ? 'names' : 'name'} it. Change those first.`, blocking: { instance_rows: 'row', instance_requests: 'request', catalog: 'approval stage' } as Record<string, string>,
    check: 'Check the decisions', undecided: (n: number) => `${many(n, 'conflict is', 'conflicts are')} not decided yet.`, stale: 'The conflicts are others by now. Decide about these.',
    move: 'Move it…', moveTitle: (name: string) => `Move the organization of ${name} to the service?`, moves: 'people, groups, roles and global access', to: 'to the service', settles: (n: number) => many(n, 'decision', 'decisions'), waits: 'Writes to the organization wait for a second or two. Checks never wait.', moveNow: 'Move it', moved: 'The organization has moved.', moving: 'You may leave while it moves: it goes on by itself.',
    giveBack: 'Give it back…', backTitle: (name: string) => `Give the organization back to ${name}?`, backTo: 'to the application', backNow: 'Give it back', gaveBack: 'The application has its organization back.', left: 'Stays here: rights to the service itself', leftNothing: 'Nothing stays here.',
    next: {
      operation_in_progress: 'Another move is under way. Wait for it.', probe_failed: 'Ask the application and mend what is found, then look again.', catalog_not_published: 'Publish its catalog first, on the tab Catalog.', snapshot_unsupported: 'The application cannot hand out its organization: upgrade its host.', no_org_administrator: 'Give somebody active authz_internal.access.manage_grants everywhere first.', org_changed: 'It was written all the time. Try in a quieter hour.',
      authority_unknown: 'Bring the application back. The move goes on by itself within seconds; until then nobody writes the organization.', application_timeout: 'The move may still go on. Repeat it: it waits for the same one.', not_last_member: 'While there are several members none can have the organization back.', cap_reached: 'The cap of members is reached: see Usage.', invalid_transition: 'The first application to move is the one that keeps the organization now.', unsupported: 'The storage of the service cannot hold an organization.',
    } as Record<string, string>,
  },
}
