import { useRef } from "react";
import { CopyButton } from "./CopyButton";
import styles from "./Secret.module.css";

interface Props {
  text: string;
  /** The button's name: "Copy command". */
  name: string;
  testId?: string;
}

/** A text to be copied exactly: a key, a token, a command. */
export function Secret({ text, name, testId }: Props) {
  const source = useRef<HTMLElement>(null);
  return (
    <div className={styles.copyable}>
      <code ref={source} data-testid={testId}>
        {text}
      </code>
      <CopyButton name={name} source={source} />
    </div>
  );
}
