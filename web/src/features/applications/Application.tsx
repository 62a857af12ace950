import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useAsk } from '../../api/queries.ts'
import { apps } from '../../text/applications.ts'
import { t } from '../../text/en.ts'
import { Id } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Failed, Waiting } from '../../ui/States.tsx'
import { Tabs } from '../../ui/Tabs.tsx'
import { Access } from './Access.tsx'
import { Catalog } from './Catalog.tsx'
import { MeshOf } from './MeshOf.tsx'
import { Organization } from './Organization.tsx'
import { Overview } from './Overview.tsx'
import { UsageOf } from './UsageOf.tsx'

const from = '/signed-in/orgs/$org/applications/$id'

/** The search of an application's screen, and how to change it. */
export function useSpot() {
  const navigate = useNavigate({ from: '/orgs/$org/applications/$id' })
  const search = useSearch({ from })
  const set = (next: Partial<typeof search>, replace = true) => void navigate({ search: old => ({ ...old, ...next }), replace })
  return { search, set }
}

export function OneApplication() {
  const { org, id } = useParams({ from })
  const { search } = useSpot()
  const { tab = 'overview' } = search
  const one = useAsk('GET /orgs/{org}/applications/{app}', { path: { org, app: id } })
  const a = one.data?.application
  const full = tab === 'access' || tab === 'usage'
  return (
    <Page title={a?.name ?? id} lead={<Id of={id} />} full={full}>
      {one.error ? <Failed of={one.error} retry={() => void one.refetch()} /> : null}
      {one.error && !a ? null : (
        <>
          <Tabs label={t.person.views} to="/orgs/$org/applications/$id" org={org} id={id} tabs={Object.entries(apps.tabs)} />
          {!a ? <Waiting /> : tab === 'access' ? <Access org={org} of={a} /> : tab === 'catalog' ? <Catalog org={org} of={a} /> : tab === 'usage' ? <UsageOf org={org} of={a} /> : tab === 'mesh' ? <MeshOf org={org} of={a} /> : tab === 'organization' ? <Organization key={a.id} org={org} of={a} /> : <Overview org={org} of={a} />}
        </>
      )}
    </Page>
  )
}
