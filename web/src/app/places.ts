import { t } from '../text/en.ts'

/** Where one can go in an org. */
type To = '/orgs/$org' | '/orgs/$org/inbox' | '/orgs/$org/requests' | '/orgs/$org/ask' | '/orgs/$org/explain' | '/orgs/$org/audit' | '/orgs/$org/people' | '/orgs/$org/groups' | '/orgs/$org/roles' | '/orgs/$org/grants' | '/orgs/$org/revokes' | '/orgs/$org/resources' | '/orgs/$org/applications' | '/orgs/$org/seats' | '/orgs/$org/keys' | '/orgs/$org/usage' | '/orgs/$org/settings' | '/orgs/$org/catalog' | '/orgs/$org/registry' | '/orgs/$org/reports' | '/orgs/$org/retained'

export const places: Array<{ title: string; items: Array<{ to: To; label: string }> }> = [
  { title: '', items: [{ to: '/orgs/$org', label: t.places.home }, { to: '/orgs/$org/inbox', label: t.places.inbox }, { to: '/orgs/$org/requests', label: t.places.requests }, { to: '/orgs/$org/ask', label: t.places.askFor }] },
  { title: t.places.ask, items: [{ to: '/orgs/$org/explain', label: t.places.explain }, { to: '/orgs/$org/audit', label: t.places.audit }, { to: '/orgs/$org/retained', label: t.places.retained }, { to: '/orgs/$org/reports', label: t.places.reports }, { to: '/orgs/$org/catalog', label: t.places.catalog }, { to: '/orgs/$org/registry', label: t.places.registry }] },
  {
    title: t.places.access,
    items: [
      { to: '/orgs/$org/people', label: t.places.people },
      { to: '/orgs/$org/groups', label: t.places.groups },
      { to: '/orgs/$org/roles', label: t.places.roles },
      { to: '/orgs/$org/grants', label: t.places.grants },
      { to: '/orgs/$org/revokes', label: t.places.revokes },
      { to: '/orgs/$org/resources', label: t.places.resources },
    ],
  },
  {
    title: t.places.administration,
    items: [
      { to: '/orgs/$org/applications', label: t.places.applications },
      { to: '/orgs/$org/seats', label: t.places.seats },
      { to: '/orgs/$org/keys', label: t.places.keys },
      { to: '/orgs/$org/usage', label: t.places.usage },
      { to: '/orgs/$org/settings', label: t.places.settings },
    ],
  },
]
