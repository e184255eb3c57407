//! The templates in Chinese.

use super::Template;

pub(super) const ALL: &[Template] = &[
    Template {
        name: "article",
        title: "文章",
        what: "撰写并精简一篇文章，经人确认后再翻译",
        text: "\
1. @writer: 围绕请求写一篇文章。 [retries 1]
2. @editor: 精简全文，改正语言问题，但不遗漏任何信息。 [gate]
3. @translator: 将文章翻译成请求中指定的另一种语言。 [retries 1]
budget: 200000 tokens
",
    },
    Template {
        name: "change",
        title: "修改程序",
        what: "对程序的一处修改：先规划，再实施、评审并改正",
        text: "\
1. @planner: 阅读请求所涉及的代码并写出方案：修改哪些文件、如何测试。不要做任何修改。 [gate]
2. @coder: 按方案修改，并运行测试。 [limit 1h]
3. @reviewer: 评审这次修改：指出每个问题所在的文件和行，并说明如何改正。不要做任何修改。
4. @coder: 改正评审指出的问题，并再次运行测试。 [gate] [limit 1h]
budget: 2000000 tokens
",
    },
    Template {
        name: "research",
        title: "调研",
        what: "对一个问题进行调研和核实，并给出附来源的回答",
        text: "\
1. @researcher: 查明关于请求的已知信息，并为每条说法注明来源。
2. @critic: 指出存疑、遗漏或没有来源之处。
3. @researcher: 逐一查证 critic 指出之处，并修正调研结果。
4. @writer: 根据调研结果回答请求，并附上来源。 [gate]
budget: 500000 tokens, 2h
",
    },
    Template {
        name: "release",
        title: "发布版本",
        what: "发布一个版本：先测试并写好发布说明，再由人确认",
        text: "\
1. @tester: 运行全部测试，并报告失败的测试。不要做任何修改。 [retries 1] [limit 1h]
2. @writer: 根据上一版本以来的更改撰写发布说明。 [gate]
3. @coder: 按请求准备发布，并报告每一步。 [gate] [limit 1h]
",
    },
];
