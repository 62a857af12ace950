import { Link, useNavigate } from '@tanstack/react-router'
import { useOrg, usePages } from '../../api/queries.ts'
import type { Summary } from '../../api/schema.gen.ts'
import { registry as t } from '../../text/registry.ts'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name, number, Time } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed } from '../../ui/States.tsx'

const columns: Array<Column<Summary>> = [
  { id: 'namespace', title: t.namespace, width: 'minmax(0, 1fr)', cell: n => <Id of={n.namespace} /> },
  { id: 'application', title: t.application, width: 'minmax(0, 1fr)', cell: n => <Name of={n.application ?? ''} /> },
  { id: 'version', title: t.version, width: '92px', cell: n => (n.version === null ? <span className="dim">{t.never}</span> : <><span className="narrow dim">{t.version} </span>{number.format(n.version)}</>) },
  { id: 'published', title: t.published, width: '150px', least: true, cell: n => <span className="dim">{n.publishedAt !== null && <Time at={n.publishedAt} />}</span> },
  { id: 'keys', title: t.keys, width: '72px', least: true, cell: n => number.format(n.keys) },
  { id: 'gone', title: t.gone, width: '190px', least: true, cell: n => <span className={n.tombstones ? 'tag mind' : 'dim'}>{number.format(n.tombstones)}</span> },
]

/** The namespaces of the org. */
export function Registry() {
  const org = useOrg()
  const navigate = useNavigate({ from: '/orgs/$org/registry' })
  const pages = usePages('GET /orgs/{org}/registry', { path: { org } }, p => p.namespaces)
  return (
    <Page
      title={t.title} lead={t.lead} full
      actions={<><Link className="button" to="/orgs/$org/drift" params={{ org }}>{t.drift}</Link><Link className="button" to="/orgs/$org/catalog" params={{ org }}>{t.catalog}</Link></>}
    >
      {pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} /> : (
        <Grid
          label={t.title} columns={columns} rowId={n => n.namespace} {...pages.grid} onOpen={n => void navigate({ to: '/orgs/$org/registry/$ns', params: { org, ns: n.namespace } })}
          empty={<Empty title={t.none}><p>{t.noneHint}</p></Empty>}
        />
      )}
    </Page>
  )
}
