import { numbers } from './en.ts'

export const usage = {
  title: 'Usage and caps',
  lead: 'What this service counts of the organization. A cap holds back conveniences of the service: never a check, and nothing that runs at an application.',
  period: 'Counted from',
  to: 'to',
  asOf: 'as of',
  names: {
    admin_seats: 'Owner and administrator seats', linked_applications: 'Linked applications', federated_applications: 'Federated applications', provisioned_connectors: 'Provisioned connectors',
    retained_audit_events: 'Retained audit events', catalog_publishes: 'Catalog publishes', read_model_syncs: 'Syncs of members',
  } as Record<string, string>,
  kinds: { standing: 'as it stands', counted: 'this month', guardrail: 'this month' } as Record<string, string>,
  /** What a reached cap does to each. */
  effects: {
    admin_seats: 'One more is not activated. Who is active stays.', linked_applications: 'One more is not linked, and applications are asked for their health less often.', federated_applications: 'One more is not federated, and members are synced every 15 minutes.',
    retained_audit_events: 'No more events are copied until the next month. None is lost at its application.', catalog_publishes: 'A namespace is published once a minute at most.', read_model_syncs: 'Members are synced every 15 minutes at most. What takes something away is never slowed.',
  } as Record<string, string>,
  held: { seat_activation: 'no more seats are activated', linking: 'no more applications are linked', federating: 'no more applications are federated', reconciling: 'syncs are slowed', ingest: 'no more events are retained', publishing: 'publishes are slowed', syncing: 'syncs are slowed' } as Record<string, string>,
  states: { under: 'under the cap', reached: 'reached', over: 'over' } as Record<string, string>,
  noCap: 'no cap',
  of: (value: number, cap: number) => `${numbers.format(value)} of ${numbers.format(cap)}`,
  change: 'Change…',
  changeOf: (what: string) => `Change the cap of ${what}`,
  title2: (what: string) => `Cap of ${what}`,
  cap: 'Cap',
  capHint: 'A whole number. Left empty: no cap.',
  wrong: 'A whole number from 0 on, or nothing.',
  same: 'That is the cap now.',
  now: 'now',
  when: 'Once it is reached:',
  submit: 'Change the cap',
  changed: 'The cap is changed.',
}
