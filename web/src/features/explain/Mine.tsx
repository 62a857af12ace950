import { useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useAsk, useOrg, useVocabulary } from '../../api/queries.ts'
import { ofOneself } from '../../domain/explanation.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Choose } from '../../ui/Choose.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Loaded } from '../../ui/States.tsx'
import { Answer } from './Answer.tsx'
import { AskFor } from './AskFor.tsx'

/** Why the reader may, or may not: all that is told to who may not read the access of others. */
export function Mine({ userId }: { userId: string }) {
  const org = useOrg()
  const { key = '', scope = '*' } = useSearch({ from: '/signed-in/orgs/$org/explain' })
  const navigate = useNavigate({ from: '/orgs/$org/explain' })
  const words = useVocabulary()
  const [asked, setAsked] = useState({ key, scope: scope === '*' ? '' : scope })
  const answer = useAsk('GET /orgs/{org}/me/explain', { path: { org }, query: { key, scope } }, { on: key !== '' })
  function submit(e: FormEvent) {
    e.preventDefault()
    void navigate({ search: { key: asked.key.trim(), scope: asked.scope.trim() || '*' } })
  }
  return (
    <Page title={t.explain.title} lead={t.explain.leadOwn}>
      <form className="card" onSubmit={submit}>
        <div className="fields ask own">
          <Choose label={t.explain.keyOwn} value={asked.key} onChange={key => setAsked(a => ({ ...a, key }))} choices={(words.data?.leaves ?? []).map(l => ({ id: l.key, note: l.description }))} mono required />
          <Choose label={t.explain.scope} value={asked.scope} onChange={scope => setAsked(a => ({ ...a, scope }))} choices={[]} placeholder={t.explain.scopeHint} mono />
          <div className="field"><span className="label spacer" aria-hidden="true">&nbsp;</span><Button kind="main" type="submit">{t.explain.submit}</Button></div>
        </div>
      </form>
      {key === '' ? <Empty title={t.explain.nothingOwn} /> : (
        <Loaded of={answer}>
          {own => (
            <div className="stack">
              <Answer org={org} question={{ subject: 'user:' + userId, key, scope }} explained={ofOneself(userId, own)} own />
              {!own.allowed && own.requests.length > 0 && <div className="note"><div className="grow stack close"><p>{t.explain.mayAskOwn}</p><AskFor org={org} requests={own.requests} /></div></div>}
            </div>
          )}
        </Loaded>
      )}
    </Page>
  )
}
