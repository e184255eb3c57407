//! The sentences of the generated set, in five families. The search for candidates and the recall were tuned by the results of the first
//! four families. The fifth was held out: it was written afterwards, and nothing was changed for it.
//!
//! `{p}` is a person, `{s}` an attribute, `{v}` a value and `{o}` the previous value.

/// The sentences of one language.
pub(super) struct Phrasings {
    /// Sentences that state a fact for the first time.
    pub(super) said: &'static [&'static str],
    /// Sentences that state a fact with a new value.
    pub(super) changed: &'static [&'static str],
    /// Questions about a fact.
    pub(super) asked: &'static [&'static str],
    /// Attributes with several values.
    pub(super) lists: &'static [List],
}

/// An attribute with several values.
pub(super) struct List {
    pub(super) asked: &'static str,
    pub(super) said: &'static [&'static str],
    pub(super) values: &'static [&'static str],
}

const FOODS: &[&str] = &["peanuts", "pollen", "shellfish"];
const LANGUAGES: &[&str] = &["Finnish", "Basque", "Swahili"];
const PASTIMES: &[&str] = &["下棋", "爬山", "钓鱼"];
const CHINESE_FOODS: &[&str] = &["花生", "虾", "芒果"];

/// The first family, in English and Chinese.
pub(super) const FIRST: [Phrasings; 2] = [
    Phrasings {
        said: &[
            "{p}'s {s} is {v}",
            "The {s} of {p}: {v}",
            "{p} told us about the {s}: {v}",
            "{v} is {p}'s {s}",
            "As for {p}, the {s} is {v}",
        ],
        changed: &[
            "{p}'s {s} is now {v}",
            "{p} changed the {s} from {o} to {v}",
            "Correction: the {s} of {p} is {v}",
            "{p} no longer has {o} as {s}; it is {v}",
            "The {s} of {p} was updated to {v}",
        ],
        asked: &[
            "What was {p}'s {s} again?",
            "Please tell me the {s} of {p}.",
            "Do you know the {s} that {p} has?",
        ],
        lists: &[
            List {
                asked: "What is {p} allergic to?",
                said: &[
                    "{p} is allergic to {v}",
                    "{p} is also allergic to {v}",
                    "{p} told me about being allergic to {v}",
                ],
                values: FOODS,
            },
            List {
                asked: "Which languages does {p} speak?",
                said: &["{p} speaks {v}", "{p} speaks {v} fluently", "{p} can speak {v}"],
                values: LANGUAGES,
            },
        ],
    },
    Phrasings {
        said: &[
            "{p}的{s}是{v}",
            "{p}说自己的{s}是{v}",
            "记一下：{p}的{s}，{v}",
            "{v}是{p}的{s}",
            "{p}{s}：{v}",
        ],
        changed: &[
            "{p}的{s}改成{v}了",
            "{p}现在的{s}是{v}",
            "更正：{p}的{s}是{v}，不是{o}",
            "{p}的{s}从{o}变成了{v}",
            "{p}把{s}换成了{v}",
        ],
        asked: &["你还记得{p}的{s}吗？", "{p}的{s}是什么？", "请告诉我{p}的{s}。"],
        lists: &[
            List {
                asked: "{p}对什么过敏？",
                said: &["{p}对{v}过敏", "{p}还对{v}过敏", "{p}也对{v}过敏"],
                values: CHINESE_FOODS,
            },
            List {
                asked: "{p}喜欢什么？",
                said: &["{p}喜欢{v}", "{p}喜欢{v}", "{p}还喜欢{v}"],
                values: PASTIMES,
            },
        ],
    },
];

/// The second family, in English and Chinese.
pub(super) const SECOND: [Phrasings; 2] = [
    Phrasings {
        said: &[
            "Regarding {p}: {s} = {v}",
            "For the record, {p} has {v} as {s}",
            "{p} – {s}: {v}",
            "The {s} that {p} has is {v}",
            "{p} gave {v} as the {s}",
        ],
        changed: &[
            "{p} has a new {s}, namely {v}",
            "From now on {p}'s {s} will be {v}",
            "{p}'s {s} used to be {o}, but these days it is {v}",
            "Forget the old {s} of {p}; {v} is right",
            "{p}'s current {s}: {v}",
        ],
        asked: &["Remind me of {p}'s {s}", "{p}: {s}?", "I forgot the {s} of {p}, what is it?"],
        lists: &[
            List {
                asked: "Which allergies does {p} have?",
                said: &[
                    "One of {p}'s allergies is {v}",
                    "{p}'s allergies include {v}",
                    "Allergies of {p}: {v}",
                ],
                values: FOODS,
            },
            List {
                asked: "Which languages did {p} learn?",
                said: &["{p} has learned {v}", "{p} learned {v} at school", "At home {p} learned {v}"],
                values: LANGUAGES,
            },
        ],
    },
    Phrasings {
        said: &[
            "听{p}提起，{s}是{v}",
            "关于{p}，{s}为{v}",
            "{p}告诉我{s}是{v}",
            "{p}，{s}，{v}",
            "{p}有个{s}：{v}",
        ],
        changed: &[
            "{p}如今的{s}已经是{v}了",
            "{p}的{s}不再是{o}，而是{v}",
            "以后{p}的{s}以{v}为准",
            "{p}更新了{s}：{v}",
            "{p}的新{s}是{v}",
        ],
        asked: &["帮我查一下{p}的{s}", "{p}的{s}是哪个来着？", "我忘了{p}的{s}，是什么？"],
        lists: &[
            List {
                asked: "{p}不能吃什么？",
                said: &["{p}不能吃{v}", "{p}不能吃{v}，请注意", "请注意{p}不能吃{v}"],
                values: CHINESE_FOODS,
            },
            List {
                asked: "{p}周末常做什么？",
                said: &["{p}周末常{v}", "{p}周末常去{v}", "到了周末，{p}常{v}"],
                values: PASTIMES,
            },
        ],
    },
];

/// The third family, in English and Chinese.
pub(super) const THIRD: [Phrasings; 2] = [
    Phrasings {
        said: &[
            "Just so you know, the {s} {p} has is {v}",
            "{p}: {v} ({s})",
            "When it comes to {s}, {p} has {v}",
            "{p} mentioned having {v} for a {s}",
            "My friend {p} has a {s}: {v}",
        ],
        changed: &[
            "{p} got a different {s}: {v}",
            "It turns out {p}'s {s} is {v}, not {o}",
            "{p} replaced {o} with {v} as {s}",
            "Since last week the {s} of {p} has been {v}",
            "{p}'s {s} became {v}",
        ],
        asked: &["I need {p}'s {s}", "Which {s} does {p} have?", "Look up the {s} for {p}"],
        lists: &[
            List {
                asked: "Which hobbies does {p} have?",
                said: &["{p}'s hobbies: {v}", "Another hobby of {p} is {v}", "{p} took up {v} as a hobby"],
                values: &["chess", "hiking", "pottery"],
            },
            List {
                asked: "Which places did {p} visit?",
                said: &["{p} visited {v}", "{p} will visit {v} in spring", "{p} also visited {v}"],
                values: &["Oslo", "Lima", "Cairo"],
            },
        ],
    },
    Phrasings {
        said: &[
            "{p}有{v}作为{s}",
            "{s}方面，{p}是{v}",
            "我朋友{p}的{s}是{v}",
            "{p}填的{s}是{v}",
            "{p}（{s}）：{v}",
        ],
        changed: &[
            "{p}的{s}换了，现在是{v}",
            "{p}的{s}应该是{v}才对",
            "原来说错了，{p}的{s}是{v}",
            "{p}不用{o}做{s}了，改用{v}",
            "上周起{p}的{s}成了{v}",
        ],
        asked: &["{p}的{s}呢？", "查查{p}的{s}", "能说说{p}的{s}吗？"],
        lists: &[
            List {
                asked: "{p}去过哪里？",
                said: &["{p}去过{v}", "{p}也去过{v}", "{p}前年去过{v}"],
                values: &["西安", "青岛", "拉萨"],
            },
            List {
                asked: "{p}会说什么语言？",
                said: &["{p}会说{v}", "{p}会说一点{v}", "{p}还会说{v}"],
                values: &["法语", "德语", "粤语"],
            },
        ],
    },
];

/// The fourth family, in English and Chinese.
pub(super) const FOURTH: [Phrasings; 2] = [
    Phrasings {
        said: &[
            "I noted {v} as the {s} of {p}",
            "{p} goes with {v} when asked for a {s}",
            "About {p}'s {s}: it's {v}",
            "Everyone knows that {p} has {v} for a {s}",
            "{v}: that is what {p} wrote down for {s}",
        ],
        changed: &[
            "{p} gave up {o}; the {s} is {v} these days",
            "Scratch that, {p}'s {s} should read {v}",
            "{p} went from {o} to {v} for the {s}",
            "As of Monday, {p} lists {v} under {s}",
            "Please note that {p} picked {v} as {s}, and {o} is history",
        ],
        asked: &[
            "What do we have on {p}'s {s}?",
            "The {s} of {p}, please.",
            "Can you check what {p}'s {s} is?",
        ],
        lists: &[
            List {
                asked: "What does {p} cook?",
                said: &["{p} cooks {v}", "{p} cooks {v} on Sundays", "Guests love the {v} that {p} cooks"],
                values: &["lasagne", "ramen", "paella"],
            },
            List {
                asked: "Which clubs is {p} in?",
                said: &[
                    "{p} joined the {v} club",
                    "The {v} club has {p} as a member",
                    "{p} signed up at the {v} club",
                ],
                values: &["rowing", "drama", "astronomy"],
            },
        ],
    },
    Phrasings {
        said: &[
            "{p}登记的{s}：{v}",
            "我听说{p}的{s}是{v}",
            "{p}这边，{s}写的是{v}",
            "大家都知道{p}的{s}是{v}",
            "{v}，这是{p}的{s}",
        ],
        changed: &[
            "{p}放弃了{o}，{s}选了{v}",
            "{p}的{s}，请改记{v}",
            "从周一起，{p}的{s}就是{v}",
            "{p}的{s}由{o}转为{v}",
            "划掉{o}吧，{p}的{s}是{v}",
        ],
        asked: &["{p}的{s}我们记了什么？", "麻烦说一下{p}的{s}。", "{p}用的{s}是？"],
        lists: &[
            List {
                asked: "{p}会做什么菜？",
                said: &["{p}会做{v}", "{p}会做{v}，很好吃", "{p}还会做{v}"],
                values: &["红烧肉", "饺子", "春卷"],
            },
            List {
                asked: "{p}参加了哪些社团？",
                said: &["{p}参加了{v}", "{p}也参加了{v}", "{p}刚参加了{v}"],
                values: &["合唱团", "篮球队", "话剧社"],
            },
        ],
    },
];

/// The family that was held out, in English and Chinese.
pub(super) const HELD_OUT: [Phrasings; 2] = [
    Phrasings {
        said: &[
            "If anyone asks for {p}'s {s}, answer {v}",
            "{p} put {v} into the form as {s}",
            "In {p}'s file the {s} reads {v}",
            "For {p} the {s} happens to be {v}",
            "We agreed on {v} as the {s} for {p}",
        ],
        changed: &[
            "{p} changed their mind: {v} it is for the {s}",
            "Out with {o}, in with {v}: that's {p}'s {s}",
            "The {s} we have for {p} is out of date, it is {v}",
            "{p} would rather have {v} than {o} as the {s}",
            "Could you fix {p}'s {s}? It has to be {v}",
        ],
        asked: &["Which {s} is {p}'s?", "Tell me about the {s} {p} has.", "What did {p} say about the {s}?"],
        lists: &[
            List {
                asked: "What does {p} collect?",
                said: &[
                    "{p} collects {v}",
                    "{p} has collected {v} for years",
                    "There is a shelf of {v} that {p} collected",
                ],
                values: &["stamps", "maps", "marbles"],
            },
            List {
                asked: "Which sports does {p} do?",
                said: &[
                    "{p} does {v} as a sport",
                    "One of the sports of {p}: {v}",
                    "As sports go, {p} likes {v}",
                ],
                values: &["judo", "fencing", "squash"],
            },
        ],
    },
    Phrasings {
        said: &[
            "要是有人问{p}的{s}，就说{v}",
            "{p}在表里填了{v}作{s}",
            "档案里{p}的{s}写着{v}",
            "对{p}来说，{s}就是{v}",
            "我们给{p}定的{s}是{v}",
        ],
        changed: &[
            "{p}改主意了，{s}要{v}",
            "{p}的{s}不要{o}了，要{v}",
            "我们记的{p}的{s}过时了，是{v}",
            "比起{o}，{p}更想要{v}当{s}",
            "请把{p}的{s}改一下，得是{v}",
        ],
        asked: &["{p}的{s}是啥？", "跟我说说{p}的{s}。", "关于{s}，{p}是怎么说的？"],
        lists: &[
            List {
                asked: "{p}收藏什么？",
                said: &["{p}收藏{v}", "{p}收藏{v}好多年了", "{p}家里收藏了一柜子{v}"],
                values: &["邮票", "地图", "弹珠"],
            },
            List {
                asked: "{p}做什么运动？",
                said: &["{p}的运动是{v}", "{p}也做{v}运动", "{p}常做的运动：{v}"],
                values: &["柔道", "击剑", "壁球"],
            },
        ],
    },
];
