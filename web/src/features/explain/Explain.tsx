import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useEffect, useState } from 'react'
import { useAsk, useMe, useOrg, useVocabulary } from '../../api/queries.ts'
import { holds } from '../../api/gates.ts'
import { homeOf } from '../../domain/catalog.ts'
import type { Question } from '../../domain/explanation.ts'
import { principal } from '../../domain/subjects.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Choose } from '../../ui/Choose.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed, Loaded, Waiting } from '../../ui/States.tsx'
import { say } from '../../ui/Toasts.tsx'
import { Answer } from './Answer.tsx'
import { Mine } from './Mine.tsx'
import { Others } from './Others.tsx'
import { plainText } from './plain.ts'

/** Why anybody may, for who may read the access of all; why oneself may, for everybody else. */
export function Explain() {
  const me = useMe()
  if (me.error) return <Page title={t.explain.title}><Failed of={me.error} retry={() => void me.refetch()} /></Page>
  if (!me.data) return <Page title={t.explain.title}><Waiting /></Page>
  return holds(me.data, 'authz_internal.access.read') === 'no' ? <Mine userId={me.data.caller.userId ?? ''} /> : <Anybody />
}

function Anybody() {
  const org = useOrg()
  const search = useSearch({ from: '/signed-in/orgs/$org/explain' })
  const subject = search.service ? 'service:' + search.service : search.user ? 'user:' + search.user : ''
  const question: Question = { subject, key: search.key ?? '', scope: search.scope ?? '*' }
  const asked = subject !== '' && question.key !== ''
  const who = search.service ? { serviceId: search.service } : { userId: search.user ?? '' }
  const answer = useAsk('GET /orgs/{org}/org/explain', { path: { org }, query: { ...who, key: question.key, scope: question.scope } }, { on: asked })
  async function copy(text: string, done: string) {
    await navigator.clipboard.writeText(text)
    say(done)
  }
  return (
    <Page
      title={t.explain.title} lead={t.explain.lead}
      actions={answer.data && (
        <>
          <Button onPress={() => void copy(location.href, t.explain.linkCopied)}>{t.explain.copyLink}</Button>
          <Button onPress={() => void copy(plainText(question, answer.data), t.explain.textCopied)}>{t.explain.copyText}</Button>
        </>
      )}
    >
      <Form key={`${subject} ${question.key} ${search.scope ?? ''}`} initial={{ who: search.service ? subject : (search.user ?? ''), key: question.key, scope: search.scope ?? '' }} />
      {!asked && question.key !== '' && <Others key={`${question.key} ${question.scope}`} org={org} question={question} at />}
      {!asked && question.key === '' && <Empty title={t.explain.nothing}><p>{t.explain.nothingHint}</p></Empty>}
      {asked && (
        <Loaded of={answer}>
          {explained => <Answer org={org} question={question} explained={explained} />}
        </Loaded>
      )}
      {answer.error && <p><Link to="/orgs/$org/people" params={{ org }}>{t.explain.elsewhere}</Link></p>}
    </Page>
  )
}

function Form({ initial }: { initial: { who: string; key: string; scope: string } }) {
  const org = useOrg()
  const navigate = useNavigate()
  const [who, setWho] = useState(initial.who)
  const [key, setKey] = useState(initial.key)
  const [scope, setScope] = useState(initial.scope)
  const [wrong, setWrong] = useState<string | null>(null)
  const words = useVocabulary()
  const people = useAsk('GET /orgs/{org}/org/users', { path: { org }, query: { q: who, limit: 8 } }, { on: who !== '' && !who.includes(':'), keep: true })
  const application = homeOf(words.data, scope)
  const scopes = useAsk(
    'GET /orgs/{org}/applications/{app}/scopes', { path: { org, app: application ?? '' }, query: { q: scope, limit: 8 } },
    { on: application !== undefined && scope.includes(':'), keep: true },
  )
  useEffect(() => setWrong(null), [who])
  const types = [...new Set(words.data?.byKey.get(key)?.scopes ?? [])]
  const suggested = scope.includes(':') ? (scopes.data?.scopes ?? []).map(s => ({ id: s.scope })) : types.map(type => ({ id: type + ':', note: t.explain.typeHint }))
  function submit(e: FormEvent) {
    e.preventDefault()
    const of = principal(who)
    if (who.trim() && !of) return setWrong(t.explain.wrongWho)
    void navigate({
      to: '/orgs/$org/explain', params: { org },
      search: { ...(of && ('serviceId' in of ? { service: of.serviceId } : { user: of.userId })), key: key.trim(), scope: scope.trim() || '*' },
    })
  }
  return (
    <form className="card" onSubmit={submit}>
      <div className="fields ask">
        <Choose label={t.explain.who} hint={wrong && <span className="wrong">{wrong}</span>} value={who} onChange={setWho} choices={(people.data?.users ?? []).map(u => ({ id: u.userId }))} placeholder={t.explain.whoHint} />
        <Choose label={t.explain.key} value={key} onChange={setKey} choices={(words.data?.leaves ?? []).map(l => ({ id: l.key, note: l.description }))} mono required />
        <Choose label={t.explain.scope} value={scope} onChange={setScope} choices={suggested} placeholder={t.explain.scopeHint} mono />
        <div className="field"><span className="label spacer" aria-hidden="true">&nbsp;</span><Button kind="main" type="submit">{t.explain.submit}</Button></div>
      </div>
    </form>
  )
}
