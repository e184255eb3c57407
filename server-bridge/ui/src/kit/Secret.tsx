import { useRef } from "react";
import { CopyButton } from "./CopyButton";
import styles from "./Secret.module.css";

interface Props {
  text: string;
  /** What the button is called: "Copy command". */
  name: string;
  testId?: string;
}

/** Something to be copied as it stands: a key, a token, a command. */
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
