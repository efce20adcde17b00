import { type ReactNode, useEffect, useRef, useState } from "react";

interface WindowedProps {
  /** The expected height, which the placeholder has until the content was shown once. */
  height: string;
  /** Keeps the content, for example because the user is typing in it. */
  keeps?: boolean | undefined;
  /** Whether the content is shown at once, without waiting until its position is known. */
  startsShown?: boolean;
  className?: string;
  children: () => ReactNode;
}

/**
 * Shows its content only near the visible part of the page, and a placeholder of the same height elsewhere. Long pages
 * made of these have few DOM nodes. Content that has the focus stays.
 */
export function Windowed({ height, keeps = false, startsShown = false, className, children }: WindowedProps) {
  const element = useRef<HTMLDivElement>(null);
  const lastHeight = useRef<number>(undefined);
  const [isNear, setNear] = useState(startsShown);
  useEffect(() => {
    const { current } = element;
    if (!current) return;
    return observe(current, ({ isIntersecting, boundingClientRect }) => {
      if (!isIntersecting && current.contains(document.activeElement)) return;
      if (!isIntersecting && boundingClientRect.height > 0) lastHeight.current = boundingClientRect.height;
      setNear(isIntersecting);
    });
  }, []);
  const isShown = isNear || keeps;
  return (
    <div
      ref={element}
      className={className}
      style={isShown ? undefined : { height: lastHeight.current ? `${lastHeight.current}px` : height }}
    >
      {isShown && children()}
    </div>
  );
}

type Callback = (entry: IntersectionObserverEntry) => void;

interface Observed {
  observer: IntersectionObserver;
  callbacks: Map<Element, Callback>;
}

/** One observer per scrolling element, or per document, is much cheaper than one per placeholder. */
const observers = new WeakMap<Element | Document, Observed>();

function observe(element: Element, callback: Callback): () => void {
  const root = scrollerOf(element) ?? document;
  let observed = observers.get(root);
  if (!observed) {
    const callbacks = new Map<Element, Callback>();
    const observer = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) callbacks.get(entry.target)?.(entry);
      },
      { root, rootMargin: "800px 0px" },
    );
    observed = { observer, callbacks };
    observers.set(root, observed);
  }
  const { observer, callbacks } = observed;
  callbacks.set(element, callback);
  observer.observe(element);
  return () => {
    callbacks.delete(element);
    observer.unobserve(element);
  };
}

function scrollerOf(element: Element): Element | undefined {
  for (
    let parent = element.parentElement;
    parent && parent !== document.body;
    parent = parent.parentElement
  ) {
    if (/auto|scroll/.test(getComputedStyle(parent).overflowY)) return parent;
  }
  return undefined;
}
