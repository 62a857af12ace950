import { Link, useParams } from '@tanstack/react-router'
import { useAsk, useVocabulary } from '../../api/queries.ts'
import { homeOf } from '../../domain/catalog.ts'
import { typeOf } from '../../domain/scopes.ts'
import { t } from '../../text/en.ts'
import { rs } from '../../text/resources.ts'
import { ScopeLink } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed, Loaded, Waiting } from '../../ui/States.tsx'
import { Removal } from './Removal.tsx'
import { Step } from './Step.tsx'

const shown = 50

/** One scope: the chain of those above it, and what is given and taken at each step. */
export function Resource() {
  const { org, scope } = useParams({ from: '/signed-in/orgs/$org/resources/$scope' })
  const words = useVocabulary()
  const app = homeOf(words.data, scope) ?? ''
  const chain = useAsk('GET /orgs/{org}/applications/{app}/ancestors', { path: { org, app }, query: { scope } }, { on: app !== '' })
  const below = useAsk('GET /orgs/{org}/applications/{app}/scopes', { path: { org, app }, query: { parent: scope, limit: 1000 } }, { on: app !== '' })
  const steps = chain.data ? [scope, ...chain.data.ancestors.filter(s => s !== '*'), '*'] : chain.error ? [scope, '*'] : [] // what is given here is told all the same
  return (
    <Page title={scope} lead={<>{rs.resource} · {typeOf(scope)}</>} actions={<Link className="button" to="/orgs/$org/grants/new" params={{ org }} search={{ scope }}>{t.grants.new}</Link>}>
      {words.error ? <Failed of={words.error} retry={() => void words.refetch()} /> : !words.data ? <Waiting /> : !app ? <Empty title={rs.noOwner}><p>{rs.noOwnerHint}</p></Empty> : (
        <div className="columns explained">
          <section className="card stack close">
            <header><h2>{rs.chain}</h2><span className="small dim">{rs.chainHint}</span></header>
            {chain.error && <Failed of={chain.error} retry={() => void chain.refetch()} />}
            {steps.length === 0 ? <Waiting /> : (
              <>
                {steps.length === 2 && <p className="dim">{chain.error ? rs.unread : rs.alone}</p>}
                <ol className="steps">{steps.map((s, i) => <Step key={s} org={org} app={s === '*' ? '' : (homeOf(words.data, s) ?? app)} scope={s} begin={i === 0} />)}</ol>
              </>
            )}
          </section>
          <div className="stack">
            <section className="card">
              <header><h2>{rs.below}</h2></header>
              <Loaded of={below} lines={2}>
                {({ scopes, nextCursor }) => scopes.length === 0 ? <p className="dim">{rs.noBelow}</p> : (
                  <>
                    <ul className="list keys bounded" tabIndex={0} aria-label={rs.below}>{scopes.slice(0, shown).map(s => <li key={s.scope}><ScopeLink org={org} of={s.scope} /></li>)}</ul>
                    {(scopes.length > shown || nextCursor) && <p className="small dim">{t.explain.first(shown)}</p>}
                  </>
                )}
              </Loaded>
            </section>
            <Removal key={scope} org={org} app={app} scope={scope} below={below.data?.scopes.length ?? 0} more={!!below.data?.nextCursor} />
          </div>
        </div>
      )}
    </Page>
  )
}
