import { type KeyboardEvent, useEffect, useState } from 'react'
import { useDebounced } from './useDebounced.ts'

interface Props {
  label: string
  value: string
  onChange: (value: string) => void
  placeholder?: string
  /** The one that "/" leads to. */
  first?: boolean
  mono?: boolean
}

/** A text that narrows a list once the typing rests. */
export function Filter({ label, value, onChange, placeholder, first, mono }: Props) {
  const [text, setText] = useState(value)
  const settled = useDebounced(text)
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (settled === text && settled.trim() !== value) onChange(settled.trim())
  }, [settled])
  function onKeyDown(e: KeyboardEvent<HTMLInputElement>) {
    if (e.key === 'Enter' || e.key === 'ArrowDown') {
      onChange(text.trim())
      document.querySelector<HTMLElement>('[data-grid]')?.focus()
      e.preventDefault()
    }
  }
  return (
    <input
      className={mono ? 'input mono' : 'input'} type="search" aria-label={label} placeholder={placeholder ?? label} value={text} data-filter={first || undefined}
      onChange={e => setText(e.target.value)} onKeyDown={onKeyDown} autoComplete="off" autoCapitalize="none" spellCheck={false}
    />
  )
}
