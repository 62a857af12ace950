import { Link, useParams, useSearch } from '@tanstack/react-router'
import { useAsk } from '../../api/queries.ts'
import { p } from '../../text/people.ts'
import { t } from '../../text/en.ts'
import { Name } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Tabs } from '../../ui/Tabs.tsx'
import { Failed, Waiting } from '../../ui/States.tsx'
import { Access } from './Access.tsx'
import { Held } from './Held.tsx'
import { Manage } from './Manage.tsx'
import { Memberships } from './Memberships.tsx'
import { ViewAs } from './ViewAs.tsx'

export function Person() {
  const { org, id } = useParams({ from: '/signed-in/orgs/$org/people/$id' })
  const { tab = 'access' } = useSearch({ from: '/signed-in/orgs/$org/people/$id' })
  const user = useAsk('GET /orgs/{org}/org/users/{id}', { path: { org, id } })
  const tabs: Array<readonly [string, string]> = [['access', t.person.access], ['keys', t.person.keys], ['groups', t.person.groups], ['manage', p.manage]]
  return (
    <Page
      title={id} full={tab === 'access'}
      lead={user.data && (
        <span className="row">
          {user.data.user.active ? <span className="tag yes">{t.people.active}</span> : <span className="tag no">{t.people.inactive}</span>}
          {!user.data.user.stored && <span className="tag mind">{t.person.unknown}</span>}
          {user.data.user.managerUserId && <span>{t.person.manager} <Link to="/orgs/$org/people/$id" params={{ org, id: user.data.user.managerUserId }}><Name of={user.data.user.managerUserId} /></Link></span>}
        </span>
      )}
      actions={<><ViewAs org={org} userId={id} /><Link className="button" to="/orgs/$org/explain" params={{ org }} search={{ user: id }}>{t.person.explain}</Link></>}
    >
      {user.error && <Failed of={user.error} retry={() => void user.refetch()} />}
      <Tabs label={t.person.views} to="/orgs/$org/people/$id" org={org} id={id} tabs={tabs} />
      {tab === 'access' && <Access org={org} id={id} active={user.data?.user.active ?? true} />}
      {tab === 'keys' && <Held org={org} id={id} />}
      {tab === 'groups' && user.data && <Memberships org={org} user={user.data.user} />}
      {tab === 'manage' && (user.data ? <Manage key={id} org={org} user={user.data.user} /> : !user.error && <Waiting />)}
    </Page>
  )
}
