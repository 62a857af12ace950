import { t } from '../text/en.ts'

/** Where one can go in an org. */
type To = '/orgs/$org' | '/orgs/$org/inbox' | '/orgs/$org/requests' | '/orgs/$org/ask' | '/orgs/$org/explain' | '/orgs/$org/audit' | '/orgs/$org/people' | '/orgs/$org/groups' | '/orgs/$org/roles' | '/orgs/$org/grants' | '/orgs/$org/revokes' | '/orgs/$org/applications'

export const places: Array<{ title: string; items: Array<{ to: To; label: string }> }> = [
  { title: '', items: [{ to: '/orgs/$org', label: t.places.home }, { to: '/orgs/$org/inbox', label: t.places.inbox }, { to: '/orgs/$org/requests', label: t.places.requests }, { to: '/orgs/$org/ask', label: t.places.askFor }] },
  { title: t.places.ask, items: [{ to: '/orgs/$org/explain', label: t.places.explain }, { to: '/orgs/$org/audit', label: t.places.audit }] },
  {
    title: t.places.access,
    items: [
      { to: '/orgs/$org/people', label: t.places.people },
      { to: '/orgs/$org/groups', label: t.places.groups },
      { to: '/orgs/$org/roles', label: t.places.roles },
      { to: '/orgs/$org/grants', label: t.places.grants },
      { to: '/orgs/$org/revokes', label: t.places.revokes },
    ],
  },
  { title: t.places.administration, items: [{ to: '/orgs/$org/applications', label: t.places.applications }] },
]
